"""Which runs stand still, and what is said about each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app import job as define
from jobs_app.insights.stale import stale_runs
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.stale import Stale, find_stale
from jobs_app.models import Job, JobRun, Pause
from jobs_app.registry import SYSTEM_QUEUE
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T, at, one_running, stored, take

pytestmark = pytest.mark.django_db

MINUTE = 60.0
HOUR = 60 * MINUTE


def alive(worker_id: str = "worker-1", **facts: Any) -> None:
    announce(connection, Presence(id=worker_id, beat_seconds=facts.pop("beat_seconds", 10_000), **facts))


def leased(seconds: float = HOUR, **columns: Any) -> ClaimedJob:
    """A job that runs on worker-1, whose lease ends so long after T."""
    with at(0):
        job = one_running(**columns)
    Job.objects.filter(pk=job.id).update(lease_expires_at=T + timedelta(seconds=seconds))
    return job


def found(seconds: float, *kinds: str) -> list[Stale]:
    with at(seconds):
        return find_stale(connection, kinds) if kinds else find_stale(connection)


def the_one(seconds: float) -> Stale:
    [stale] = found(seconds)
    return stale


@pytest.mark.spec("S3.19", "S3.R4")
def test_a_lease_that_ended_and_that_nobody_recovers(settings: Any) -> None:
    """With AUTO_RECOVER workers get some time to do it."""
    job = leased(30)
    with at(0):
        alive()
    assert [len(found(seconds)) for seconds in (30, 42, 43)] == [0, 0, 1]
    settings.JOBS = {"AUTO_RECOVER": False}
    assert [len(found(seconds)) for seconds in (30, 31)] == [0, 1]
    stale = the_one(35 * MINUTE)
    assert (stale.job.pk, stale.kind, stale.verdict) == (job.id, "expired", "requeue")
    assert stale.reason == "Job stuck in running for 35min - lease: expired (was on worker-1)"
    assert stale.since == T + timedelta(seconds=30)


@pytest.mark.spec("S2.18", "S2.19", "S2.R3")
def test_a_worker_that_is_gone_though_its_lease_stands() -> None:
    leased()
    with at(0):
        alive(beat_seconds=10)
        alive("worker-2", beat_seconds=10_000)
    assert found(30) == []
    assert (the_one(31).kind, the_one(31).verdict) == ("lost", "requeue")
    assert the_one(31).reason == "Worker crashed or timed out (stalled job recovery, was on worker-1)"


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"max_attempts": 2, "attempts": 1}, "requeue"),
        ({"max_attempts": 2, "attempts": 2}, "fail"),
        ({"max_attempts": 2, "attempts": 3, "free_attempts": 2}, "requeue"),
        ({"max_attempts": 2, "attempts": 1, "cancel_requested": True}, "cancel"),
    ],
)
def test_what_was_lost_waits_again_while_it_has_attempts(columns: dict[str, Any], verdict: str) -> None:
    leased()
    Job.objects.update(**columns)
    assert the_one(0).verdict == verdict


@pytest.mark.spec("S3.19")
@pytest.mark.parametrize(("preset", "minutes"), [("transient", 30), ("plane", 10), ("rate", 15)])
def test_no_progress_for_as_long_as_the_preset_says(preset: str, minutes: int) -> None:
    @define(name="work", preset=preset, timeout=None)
    def work() -> None: ...

    leased()
    with at(0):
        alive()
    threshold = minutes * MINUTE
    assert found(threshold) == []
    assert (the_one(threshold + 1).kind, the_one(threshold + 1).verdict) == ("stuck", "fail")
    assert the_one(threshold + 1).reason == (f"Job stuck in running for {minutes}min - no progress for {minutes}min")
    Job.objects.update(last_progress_at=T + timedelta(seconds=MINUTE))
    assert found(threshold + MINUTE) == []
    stale = the_one(threshold + MINUTE + 1)
    assert stale.reason == f"Job stuck in running for {minutes + 1}min - no progress for {minutes}min"
    assert stale.since == T + timedelta(seconds=MINUTE)


def test_progress_of_an_earlier_attempt_is_none_of_this_one() -> None:
    @define(name="work", preset="plane")
    def work() -> None: ...

    leased()
    with at(0):
        alive()
    Job.objects.update(last_progress_at=T - timedelta(hours=1))
    assert found(10 * MINUTE) == []


@pytest.mark.spec("S2.R3", "S2.19")
def test_a_run_is_never_stale_by_its_age_alone() -> None:
    """Of a type without a threshold; it runs since ever, and its worker is alive and keeps its lease."""

    @define(name="work")
    def work() -> None: ...

    leased(100 * HOUR)
    with at(90 * HOUR):
        alive()
    assert found(90 * HOUR) == []


def test_a_run_past_its_timeout_and_the_grace_after_it() -> None:
    @define(name="work", timeout="4m")
    def work() -> None: ...

    leased()
    with at(0):
        alive()
    assert found(4 * MINUTE + 4) == []
    stale = the_one(14 * MINUTE)
    assert (stale.kind, stale.verdict) == ("stuck", "fail")
    assert stale.reason == "Job stuck in running for 14min - past its timeout for 10min"
    assert stale.since == T + timedelta(minutes=4)


def test_of_the_apps_own_chores_only_the_lease_counts() -> None:
    leased(30, queue=SYSTEM_QUEUE)
    assert found(29) == []
    assert the_one(60).kind == "expired"


def test_they_come_longest_first_and_by_kind() -> None:
    leased(100)
    leased(50)
    lost = leased()
    assert [stale.kind for stale in found(200)] == ["lost", "expired", "expired"]
    expired = found(200, "expired")
    assert [stale.since for stale in expired] == [T + timedelta(seconds=seconds) for seconds in (50, 100)]
    assert [stale.job.pk for stale in found(200, "lost")] == [lost.id]
    with at(200):
        assert [stale.job.pk for stale in stale_runs(connection, limit=1)] == [lost.id]
        assert stale_runs(connection, kinds=["unserved"]) == []


def due(count: int = 1, **columns: Any) -> list[UUID]:
    with at(0):
        return stored(count, **columns)


@pytest.mark.spec("S3.19")
def test_a_job_that_is_due_for_ten_minutes_and_that_nobody_serves() -> None:
    [run_id] = due(queue="mail")
    with at(0):
        alive(queues=["sync", "mail.*"], job_types=["work"])
        alive("worker-2", excluded=["mail"], job_types=["work"])
        alive("scheduler", kind="scheduler", job_types=["work"])
    assert found(10 * MINUTE) == []
    stale = the_one(10 * MINUTE + 1)
    assert (stale.job.pk, stale.kind, stale.verdict, stale.since) == (run_id, "unserved", "keep", T)
    assert stale.reason == "no live worker serves queue mail: start one with manage.py runworker --queues mail"


@pytest.mark.parametrize("queues", [(), ("mail",), ("m*",)])
def test_a_long_backlog_that_somebody_works_off_is_healthy(queues: tuple[str, ...]) -> None:
    due(30, queue="mail")
    with at(10 * HOUR):
        alive(queues=queues, job_types=["work"])
    assert found(10 * HOUR) == []


def test_a_type_that_no_worker_of_its_queue_knows() -> None:
    due(queue="mail", job_type="new")
    with at(0):
        alive(queues=["mail"], job_types=["work"])
        alive("worker-2", queues=["sync"], job_types=["new"])
    assert the_one(HOUR).reason == "no live worker of queue mail knows job type new: start one whose code has it"


def test_what_only_remote_workers_run_is_told_to_wait_for_one() -> None:
    @define(name="crawl", queue="mail", remote=True)
    def crawl() -> None: ...

    start = "start one with python -m jobs_app.client --queues mail"
    with at(0):
        crawl.enqueue()
    assert the_one(HOUR).reason == f"no live worker serves queue mail: {start}"
    with at(HOUR):
        announce(connection, Presence(id="local", job_types=["work"]))
    assert the_one(HOUR).reason == f"no remote worker pulls from queue mail: {start}"


def test_the_preset_says_how_long_one_may_wait_for_a_worker() -> None:
    preset = define(name="work", preset="transient")(lambda: None).job_type.preset

    assert preset is not None
    assert preset.waiting_stale_after == 600
    due()
    assert [len(found(seconds)) for seconds in (600, 601)] == [0, 1]


@pytest.mark.parametrize("hold", ["new", "limit"])
def test_one_that_waits_before_a_gate_waits_for_a_worker_too(hold: str) -> None:
    due()
    Job.objects.update(hold=hold, gate=1)
    assert the_one(HOUR).kind == "unserved"


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("queue", "mail"), ("job_type", "work"), ("subject", "shop")])
def test_what_a_pause_holds_waits_for_its_end(scope: str, name: str) -> None:
    due(queue="mail", subject="shop")
    Pause.objects.create(scope=scope, name=name)
    assert found(HOUR) == []


def test_of_a_lane_some_of_the_oldest_are_told() -> None:
    due(30)
    with at(100):
        stored(30)
    runs = found(HOUR)
    assert len(runs) == 20
    assert {stale.since for stale in runs} == {T}


def test_the_apps_own_chores_are_not_waited_for_here() -> None:
    due(queue=SYSTEM_QUEUE)
    assert found(HOUR) == []


@pytest.mark.spec("S3.19")
def test_the_cost_follows_what_runs_and_the_lanes_not_backlog_or_history(on_postgres: None) -> None:
    with at(0):
        stored(3000)
        stored(5, queue="mail")
        take(10)
    JobRun.objects.bulk_create(
        JobRun(
            id=UUID(int=number),
            state="succeeded",
            job_type="work",
            queue="default",
            run_at=T,
            queued_at=T,
            finished_at=T,
            max_attempts=1,
            payload={},
        )
        for number in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_app_job")
    with at(0):
        plans = plans_of(lambda: find_stale(connection))
    assert plans.rows < 200
    assert not any("jobs_app_jobrun" in sql for sql, _ in plans.nodes)
