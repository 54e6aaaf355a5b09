"""How PostgreSQL reads: the claim and the search for lanes follow the claim's index, whatever the statistics say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection, transaction

from jobs_app.lifecycle import claim, heartbeat, lanes, recover
from jobs_app.lifecycle.claim import Claim, claim_parameters
from jobs_app.lifecycle.database import NOW, PIN_PLAN
from jobs_app.lifecycle.heartbeat import Held
from jobs_app.lifecycle.lanes import Start
from jobs_app.models import Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

BATCH = 200
INDEX = "jobs_app_job_claim"
JOBS = """
INSERT INTO jobs_app_job (id, state, job_type, queue, priority, run_at, queued_at, max_attempts, payload, meta,
                          token, lease_expires_at)
SELECT gen_random_uuid(), {state}, 'work', 'queue-' || n %% 3, n %% 2, now() + ({due}) * interval '1 second', now(), 5,
       '{{}}', '{{}}', {token}, {lease}
  FROM generate_series(1, %s) AS n
"""
RUNS = """
INSERT INTO jobs_app_jobrun (id, state, job_type, queue, priority, run_at, queued_at, finished_at, max_attempts,
                             payload, meta)
SELECT gen_random_uuid(), 'succeeded', 'work', 'queue-0', 0, now(), now(), now(), 5, '{}', '{}'
  FROM generate_series(1, %s) AS n
"""


def run(sql: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def fill(count: int, *, state: str = "'queued'", due: str = "-n", token: str = "NULL", lease: str = "NULL") -> None:
    run(JOBS.format(state=state, due=due, token=token, lease=lease), [count])


def explained(sql: str, parameters: Any) -> list[dict[str, Any]]:
    """Every node of the plan, after the statement ran; what it changed is undone."""
    with transaction.atomic():
        # As the claim does it: with parameters bound by the server.
        with connection.cursor() as wrapped, psycopg.Cursor(wrapped.connection) as cursor:
            cursor.execute(PIN_PLAN)
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
            found = cursor.fetchone()[0]  # type: ignore[index]
        transaction.set_rollback(True)
    plan = json.loads(found) if isinstance(found, str) else found
    return list(nodes_of(plan[0]["Plan"]))


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes_of(child)


def rows_read(nodes: list[dict[str, Any]]) -> int:
    """From the table, not from arrays and subqueries."""
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in nodes
        if node.get("Relation Name") == "jobs_app_job"
    )


def assert_reads_in_order(nodes: list[dict[str, Any]], most: int) -> None:
    """A sort of two rows, each already the first of its lane, is none."""
    kinds = {node["Node Type"] for node in nodes if node["Node Type"] != "Sort" or node["Plan Rows"] > 2}
    assert not kinds & {"Sort", "Incremental Sort", "Seq Scan", "Bitmap Heap Scan", "Hash Join", "Merge Join"}
    assert {node["Index Name"] for node in nodes if "Index Name" in node} == {INDEX}
    assert rows_read(nodes) <= most


def assert_the_claim_reads_little() -> None:
    asked = Claim(
        worker_id="w", token=uuid4(), job_types=["work", "other"], limit=BATCH, lease=30, leases={"work": 60.0}
    )
    for first in (Start("queue-1", 1), Start("queue-1", 1, lanes.BEGINNING[0], UUID(int=1))):
        starts = [first, *(Start(f"queue-{n}", priority) for priority in (1, 0) for n in range(3))]
        nodes = explained(claim.POSTGRES, claim_parameters(connection, asked, starts))
        assert nodes[0]["Plans"], nodes
        # Once by the index, once by ctid.
        assert_reads_in_order(nodes, 4 * BATCH)
        tid_scans = [node for node in nodes if node["Node Type"] == "Tid Scan"]
        assert [round(node["Actual Rows"] * node["Actual Loops"]) for node in tid_scans] == [BATCH]


def assert_the_search_for_lanes_reads_little() -> None:
    nodes = explained(lanes.POSTGRES, None)
    found = round(nodes[0]["Actual Rows"])
    assert found == 6
    assert_reads_in_order(nodes, 3 * (found + 1))


@pytest.fixture(params=["never analysed", "analysed while empty", "analysed while all ran", "analysed"])
def backlog(request: pytest.FixtureRequest, on_postgres: None, db: None) -> None:
    """10,000 jobs due and 10,000 due later in six lanes, unseen or seen by the planner."""
    if request.param == "analysed while empty":
        run("ANALYZE jobs_app_job")
    if request.param == "analysed while all ran":
        fill(10_000, state="'running'", token="gen_random_uuid()", lease="now() + interval '1 hour'")
        run("ANALYZE jobs_app_job")
        run("UPDATE jobs_app_job SET state = 'queued', lease_expires_at = NULL, token = NULL")
    else:
        fill(10_000)
    fill(10_000, due="n + 60")
    if request.param == "analysed":
        run("ANALYZE jobs_app_job")


@pytest.mark.usefixtures("backlog")
def test_a_claim_reads_its_batch_and_not_the_backlog() -> None:
    assert_the_claim_reads_little()


@pytest.mark.usefixtures("backlog")
def test_lanes_are_found_by_a_few_steps_through_the_index() -> None:
    assert_the_search_for_lanes_reads_little()


@pytest.mark.usefixtures("backlog")
@pytest.mark.spec("S2.22")
def test_recovery_reads_what_runs_and_not_what_waits() -> None:
    fill(2_000, state="'running'", token="gen_random_uuid()", lease="now() + interval '1 hour'")
    fill(10, state="'running'", token="gen_random_uuid()", lease="now() - interval '1 second'")
    expired, too_late = (
        explained(sql.format(now=NOW) + recover.PASSING_LOCKED, {"now": None, "limit": 500})
        for sql in (recover.EXPIRED, recover.TOO_LATE)
    )
    [reading] = [node for node in expired if node.get("Relation Name") == "jobs_app_job"]
    assert reading["Index Name"] == "jobs_app_job_lease"
    assert rows_read(expired) == 10
    assert {node["Index Name"] for node in too_late if "Index Name" in node} == {"jobs_app_job_expiry"}
    assert rows_read(too_late) == 0


@pytest.mark.usefixtures("backlog")
@pytest.mark.parametrize(
    "statement", [heartbeat.POSTGRES_EXTEND, heartbeat.POSTGRES_ASK], ids=["beat", "between beats"]
)
def test_a_heartbeat_reads_what_it_holds_and_not_what_waits(statement: str) -> None:
    fill(500, state="'running'", token="gen_random_uuid()", lease="now() + interval '1 hour'")
    held = [Held(run_id, token, 30) for run_id, token in Job.objects.filter(state="running").values_list("id", "token")]
    ids, pairs = [one.id for one in held], [f"{one.id} {one.token}" for one in held]
    nodes = explained(statement, {"now": None, "ids": ids, "pairs": pairs, "lease": 30.0})
    assert not {"Seq Scan", "Hash Join", "Nested Loop"} & {node["Node Type"] for node in nodes}
    assert rows_read(nodes) <= 4 * len(held)


@pytest.mark.slow
@pytest.mark.parametrize("analysed", [False, True])
def test_a_claim_reads_its_batch_among_millions(analysed: bool) -> None:
    fill(1_000_000)
    fill(1_000_000, due="n + 3600")
    run(RUNS, [1_000_000])
    if analysed:
        run("ANALYZE jobs_app_job")
        run("ANALYZE jobs_app_jobrun")
    assert_the_claim_reads_little()
    assert_the_search_for_lanes_reads_little()
