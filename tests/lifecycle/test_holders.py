"""Who holds the key that a refused job asked for, and what becomes of a holder that is replaced."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.holders import HOLDERS, find_holders, find_run, replace_waiting
from jobs_app.models import Job
from tests.by_hand import admit_all
from tests.lifecycle.rows import T, at, done, new_job, one_running, stored, take

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("holder", "refused", "is_found"),
    [
        ("exclusive", "exclusive", True),
        ("short", "short", True),
        ("stately", "short", True),
        ("short", "stately", True),
        ("short", "exclusive", False),
        ("exclusive", "short", False),
        ("singleton", "exclusive", False),
    ],
)
def test_a_holder_is_the_one_whose_policy_is_in_the_way(holder: str, refused: str, is_found: bool) -> None:
    [known] = stored(policy=holder, key="k")
    stored(policy=holder, key="another")
    stored(policy=holder, key="k", queue="mail")
    mine = new_job(policy=refused, key="k")
    found = find_holders(connection, [mine])
    assert [one.id for one in found.values()] == ([known] if is_found else [])
    if is_found:
        assert (found[mine.id].created, found[mine.id].job_type, found[mine.id].state) == (False, "work", "queued")


def test_holders_are_found_by_index(is_postgres: bool) -> None:
    """On SQLite; how PostgreSQL reads depends on more, and is looked at with the other plans."""
    if is_postgres:
        pytest.skip("SQLite only: see test_admit_plans.py")
    rows = "SELECT 1 AS id, 'q' AS queue, 'k' AS key, 'short' AS policy"
    by_key = "job.key = refused.key"
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {HOLDERS.format(rows=rows, by_key=by_key)}")
        steps = " ".join(row[3] for row in cursor.fetchall())
    assert "SCAN job" not in steps
    assert "jobs_app_job_exclusive" in steps
    assert "jobs_app_job_one_queued" in steps


def test_what_runs_holds_an_exclusive_key_and_no_place_in_a_queue() -> None:
    running = one_running(policy="exclusive", key="k", gate=0)
    one_running(policy="short", key="k")
    exclusive, short = new_job(policy="exclusive", key="k"), new_job(policy="short", key="k")
    found = find_holders(connection, [exclusive, short])
    assert {mine: one.id for mine, one in found.items()} == {exclusive.id: running.id}
    assert found[exclusive.id].state == "running"


def test_times_come_back_as_they_were_stored() -> None:
    with at(0):
        stored(policy="short", key="k", delay=60)
        mine = new_job(policy="short", key="k")
        [holder] = find_holders(connection, [mine]).values()
    assert holder.queued_at == T
    assert (holder.run_at - T).total_seconds() == 60


def test_a_run_is_found_live_and_ended() -> None:
    job = one_running()
    before = find_run(connection, job.id)
    assert before is not None
    assert before.state == "running"
    assert done(job)
    after = find_run(connection, job.id)
    assert after is not None
    assert (after.state, after.created) == ("succeeded", False)
    assert find_run(connection, new_job().id) is None


@pytest.mark.parametrize(("gate", "hold"), [(0, ""), (1, "limit"), (2, "new")])
def test_a_replaced_job_waits_from_the_start_before_its_gate(gate: int, hold: str) -> None:
    [run_id] = stored(policy="short", key="k", gate=gate)
    admit_all(["work"])
    assert Job.objects.get().hold == ""
    with at(0):
        assert replace_waiting(connection, run_id, new_job(payload='{"n": 2}', expires_at=T)) is not None
    job = Job.objects.get()
    assert (job.hold, job.payload, job.expires_at, job.attempts) == (hold, {"n": 2}, T, 0)


def test_a_paused_job_that_is_replaced_stays_paused() -> None:
    [run_id] = stored(policy="short", key="k")
    Job.objects.update(hold="pause")
    assert replace_waiting(connection, run_id, new_job()) is not None
    assert Job.objects.get().hold == "pause"


def test_what_runs_or_has_ended_is_not_replaced() -> None:
    job = one_running(policy="short", key="k")
    assert replace_waiting(connection, job.id, new_job(payload='{"n": 2}')) is None
    assert Job.objects.get().payload == {}
    assert done(job)
    assert replace_waiting(connection, job.id, new_job()) is None


def test_it_is_never_due_in_the_past() -> None:
    [run_id] = stored(policy="short", key="k", delay=60)
    with at(0):
        replaced = replace_waiting(connection, run_id, new_job(run_at=T.replace(year=2020)))
    assert replaced is not None
    assert replaced.run_at == T
    with at(0):
        assert [job.id for job in take()] == [run_id]
