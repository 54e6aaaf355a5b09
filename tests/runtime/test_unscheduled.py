"""Where no scheduler lives, workers enqueue the app's own chores."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job, JobRun, ScheduleState, WorkerKind
from jobs_app.runtime.unscheduled import enqueue_own
from tests.lifecycle.history import finished, left
from tests.lifecycle.rows import at
from tests.waiting import until
from tests.worker.harness import working

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {"jobs.notify", "jobs.prune", "jobs.reconcile", "jobs.rollup"}


@pytest.fixture(autouse=True)
def hosts_own(chores: Any) -> None:
    @job(name="host", every=1)
    def host() -> None: ...


def made(seconds: float) -> set[str]:
    """What is enqueued at this moment; it is done at once."""
    with at(seconds):
        assert enqueue_own(connection, lambda: True) is False
    names = set(Job.objects.values_list("job_type", flat=True))
    Job.objects.all().delete()
    return names


def test_each_is_enqueued_when_its_time_has_come_whoever_does_it() -> None:
    assert [made(seconds) for seconds in (0, 59, 60)] == [NAMES, set(), NAMES - {"jobs.prune"}]
    assert made(600) == NAMES


def test_one_that_waits_or_runs_is_not_joined_by_another() -> None:
    for seconds in (0, 60):
        with at(seconds):
            enqueue_own(connection, lambda: True)
    assert Job.objects.count() == len(NAMES)


def test_where_a_scheduler_lives_it_is_left_to_that() -> None:
    with at(0):
        announce(connection, Presence(id="s", kind=WorkerKind.SCHEDULER, beat_seconds=10))
        announce(connection, Presence(id="w", beat_seconds=10_000))
    assert [made(seconds) for seconds in (30, 31)] == [set(), NAMES]


def test_switched_off_with_the_scheduler_and_with_its_schedule(settings: Any) -> None:
    ScheduleState.objects.create(job_type="jobs.prune", interval_seconds=600, paused=True)
    assert made(0) == NAMES - {"jobs.prune"}
    settings.JOBS = {"SCHEDULER_ENABLED": False}
    assert made(6000) == set()


@pytest.mark.spec("S3.17")
def test_workers_alone_keep_the_history_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.worker.loop.FIRST_CHORES_SECONDS", 0.1)
    old = finished(400)
    with working():
        until(lambda: old not in left(), every=0.02)
        until(lambda: set(JobRun.objects.values_list("job_type", flat=True)) >= NAMES, every=0.02)
