"""How PostgreSQL reads when it prunes: as many rows as a batch has, through indexes, whatever the history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app import job
from jobs_app.lifecycle import prune as prune_module
from jobs_app.lifecycle.prune import Pruned, prune
from tests.lifecycle.history import nothing_is_half
from tests.lifecycle.rows import T
from tests.lifecycle.test_plans import nodes_of, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

BATCH = 200
HISTORY = """
WITH made AS (
  INSERT INTO jobs_app_jobrun (id, state, job_type, queue, priority, run_at, queued_at, finished_at, max_attempts,
                               payload, meta, schedule)
  SELECT gen_random_uuid(), CASE WHEN n %% 10 = 0 THEN 'failed' ELSE 'succeeded' END, 'work-' || n %% 3, 'default', 0,
         {at}, {at}, {at}, 5, '{{}}', '{{}}', CASE WHEN n %% 3 = 1 THEN n %% 50 END
    FROM generate_series(1, %(count)s) AS n RETURNING id, finished_at),
tried AS (
  INSERT INTO jobs_app_jobattempt (job_id, number, token, worker_id, started_at, finished_at, outcome, success)
  SELECT id, 1, id, '', finished_at, finished_at, 'success', true FROM made)
INSERT INTO jobs_app_jobitem (job_id, key, data, reported_at) SELECT id, 'k', '{{}}', finished_at FROM made
"""
EVENTS = """
INSERT INTO jobs_app_controlevent (at, actor, action, target_kind, target, reason, moved, skipped, detail)
SELECT %(now)s - n * interval '1 hour', '', 'pause', '', '', '', 0, 0, '{}' FROM generate_series(1, %(count)s) AS n
"""
SAMPLES = """
INSERT INTO jobs_app_statsample (at, seconds, series, name, value, count)
SELECT %(now)s - n * interval '1 hour', 3600, 'finished', '', 1, 1 FROM generate_series(1, %(count)s) AS n
"""


@pytest.fixture(params=["never analysed", "analysed"])
def history(request: pytest.FixtureRequest, on_postgres: None, db: None) -> None:
    """Of three types over 200 days, of which one keeps the last runs of its schedules."""

    def work() -> None: ...

    for name, options in {"work-0": {}, "work-1": {"keep_last": 10}, "work-2": {}}.items():
        job(name=name, **options)(work)
    parameters = {"now": T, "count": 20_000}
    run(HISTORY.format(at="%(now)s - n * interval '1 day' / 100"), parameters)
    run(EVENTS, parameters)
    run(SAMPLES, parameters)
    if request.param == "analysed":
        for table in ("jobrun", "jobattempt", "jobitem", "controlevent", "statsample"):
            run(f"ANALYZE jobs_app_{table}")


@contextmanager
def plans() -> Iterator[list[list[dict[str, Any]]]]:
    """The nodes of every plan, each statement explained as it ran, and then run for good."""
    found: list[list[dict[str, Any]]] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().startswith(("SELECT", "DELETE", "WITH")) and "jobs_app_" in sql:
            with transaction.atomic():
                execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params, many, context)
                answer = context["cursor"].fetchone()[0]
                transaction.set_rollback(True)
            plan = json.loads(answer) if isinstance(answer, str) else answer
            found.append(list(nodes_of(plan[0]["Plan"])))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield found


def rows_read(nodes: list[dict[str, Any]]) -> int:
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in nodes
        if node.get("Relation Name", "").startswith("jobs_app_") and "Scan" in node["Node Type"]
    )


def assert_reads_little(found: list[list[dict[str, Any]]], most: int) -> None:
    assert found
    for nodes in found:
        full = [node for node in nodes if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE]
        assert not full, full
        assert rows_read(nodes) <= most, nodes


LARGE = {f"jobs_app_{name}" for name in ("jobrun", "jobattempt", "jobitem", "controlevent", "statsample")}


@pytest.mark.usefixtures("history")
def test_pruning_reads_batches_and_not_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune_module, "FIRST_SIZE", BATCH)
    monkeypatch.setattr(prune_module, "next_size", lambda size, seconds: size)
    with plans() as found:
        pruned = prune(connection, now=T)
    assert_reads_little(found, 4 * BATCH)
    assert pruned.complete
    assert pruned.runs > 14_000
    assert nothing_is_half()


@pytest.mark.usefixtures("history")
def test_a_round_within_a_window_reads_only_what_came_of_age_in_it() -> None:
    assert prune(connection, now=T - timedelta(days=1)).complete
    with plans() as found:
        pruned = prune(connection, now=T, window=timedelta(days=2))
    assert 70 < pruned.runs <= 100
    assert sum(rows_read(nodes) for nodes in found) < 2_500
    assert prune(connection, now=T, window=timedelta(days=2)) == Pruned(complete=True)


@pytest.mark.parametrize("table", ["jobs_app_jobrun", "jobs_app_jobattempt"])
def test_history_is_vacuumed_before_much_of_it_is_dead(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [table])
        assert cursor.fetchone() == (["autovacuum_vacuum_scale_factor=0.05"],)
