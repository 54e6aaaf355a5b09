"""How PostgreSQL parks: by short steps through an index, also among a million jobs, while others claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.parking import BEGINNING, ROWS_PER_CHUNK, open_chunk, park_chunk
from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.pauses import Pauses, read_pauses
from jobs_app.models import Job, Pause
from tests.lifecycle.rows import take
from tests.lifecycle.sessions import sessions
from tests.lifecycle.test_plans import nodes_of, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

SHOP = Pauses(subjects=frozenset({"shop-0"}))
JOBS = """
INSERT INTO jobs_app_job (id, state, job_type, queue, priority, subject, run_at, queued_at, max_attempts, payload, meta)
SELECT gen_random_uuid(), 'queued', 'work', 'queue-' || n %% 3, n %% 2, %s, now() - n * interval '1 ms', now(), 5,
       '{}', '{}' FROM generate_series(1, %s) AS n
"""
ABOUT_JOBS = re.compile(r'(SELECT|UPDATE) .*"jobs_app_job"')


def fill(subject: str, count: int) -> None:
    run(JOBS, [subject, count])


@contextmanager
def every_plan() -> Iterator[list[list[dict[str, Any]]]]:
    """The plan of each statement about jobs, as it was run just before; what that changed is undone."""
    plans: list[list[dict[str, Any]]] = []

    def explain(execute: Any, sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        if ABOUT_JOBS.match(sql):
            with transaction.atomic():
                execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters, many, context)
                plans.append(list(nodes_of(context["cursor"].fetchone()[0][0]["Plan"])))
                transaction.set_rollback(True)
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(explain):
        yield plans


def rows_read(nodes: list[dict[str, Any]]) -> int:
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in nodes
        if node.get("Relation Name") == "jobs_app_job" and node["Node Type"] != "ModifyTable"
    )


def assert_steps_are_short(step: Callable[[], Any], indexes: set[str]) -> None:
    with pinned_transaction(connection), every_plan() as plans:
        step()
    assert len(plans) == 3
    for nodes in plans:
        assert not {node["Node Type"] for node in nodes} & {"Sort", "Incremental Sort", "Seq Scan", "Bitmap Heap Scan"}
        assert {node["Index Name"] for node in nodes if "Index Name" in node} <= indexes
        assert rows_read(nodes) <= ROWS_PER_CHUNK


STATISTICS = ["never analysed", "analysed while empty", "analysed", "analysed while all were parked"]


@pytest.fixture(params=STATISTICS)
def statistics(request: pytest.FixtureRequest, on_postgres: None, db: None) -> str:
    return str(request.param)


def backlog(statistics: str, *, parked: bool) -> None:
    """12,000 jobs of three subjects; the third of them that is ours waits, or is parked."""
    if statistics == "analysed while empty":
        run("ANALYZE jobs_app_job")
    for number in range(3):
        fill(f"shop-{number}", 4_000)
    if statistics == "analysed while all were parked":
        Job.objects.update(hold="pause")
        run("ANALYZE jobs_app_job")
        Job.objects.update(hold="")
    if parked:
        Job.objects.filter(subject="shop-0").update(hold="pause")
    if statistics == "analysed":
        run("ANALYZE jobs_app_job")


def test_a_chunk_is_parked_by_three_short_statements(statistics: str) -> None:
    backlog(statistics, parked=False)
    assert_steps_are_short(lambda: park_chunk(connection, SHOP, BEGINNING), {"jobs_app_job_pkey"})


def test_a_chunk_is_opened_by_three_short_statements(statistics: str) -> None:
    backlog(statistics, parked=True)
    assert_steps_are_short(
        lambda: open_chunk(connection, Pauses(), BEGINNING), {"jobs_app_job_pkey", "jobs_app_job_parked"}
    )


def test_few_that_are_parked_are_found_among_many_that_wait(statistics: str) -> None:
    backlog(statistics, parked=False)
    Job.objects.filter(pk__in=Job.objects.values("pk")[:10]).update(hold="pause")
    assert_steps_are_short(
        lambda: open_chunk(connection, Pauses(), BEGINNING), {"jobs_app_job_pkey", "jobs_app_job_parked"}
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_million_jobs_of_a_subject_are_paused_and_resumed_while_others_are_claimed() -> None:
    fill("shop-0", 1_000_000)
    fill("shop-1", 30_000)
    written: list[int] = []
    claimed: list[int] = []
    walker = Walker()

    def note_writes(execute: Any, sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, parameters, many, context)
        if ABOUT_JOBS.match(sql) and sql.startswith("UPDATE"):
            written.append(context["cursor"].rowcount)
        return result

    def claim_others() -> int:
        with transaction.atomic():
            jobs = take(20, paused_subjects=["shop-0"])
            assert {job.subject for job in jobs} <= {"shop-1"}
            transaction.set_rollback(True)
        return len(jobs)

    def go_on(*, while_parked: bool) -> None:
        while Pause.objects.filter(parked=while_parked).exists():
            walker.go_on(connection, 1)
            claimed.append(worker.do(claim_others))

    with sessions(1) as [worker], connection.execute_wrapper(note_writes):
        acted = control.pause("subject", "shop-0", "ann", "provider is down")
        assert acted.jobs > 0
        go_on(while_parked=False)
        assert read_pauses(connection).subjects == {"shop-0"}
        acted = control.resume("subject", "shop-0", "ann")
        assert acted.jobs > 0
        go_on(while_parked=True)
    assert not Job.objects.exclude(hold="").exists()
    assert sum(written) == 2_000_000
    assert max(written) <= ROWS_PER_CHUNK
    assert len(written) >= 2_000_000 / ROWS_PER_CHUNK
    assert set(claimed) == {20}
