"""The app's own chores: what each does, and that it is a job like any other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import chores as module
from jobs_app import get_run, trigger
from jobs_app.insights import samples
from jobs_app.lifecycle import prune as prune_module
from jobs_app.lifecycle.control.bulk import BULK
from jobs_app.lifecycle.deliveries import MAIL, WEBHOOK, WEBHOOK_OF_FAILURES
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.recover import recover
from jobs_app.models import ControlEvent, Job, JobRun, ScheduleState
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from jobs_app.testing import run_jobs
from jobs_app.timetable import Timetable
from tests.lifecycle.history import days_ago, finished, left, nothing_is_half
from tests.lifecycle.rows import T, at, done, one_running, stored, take

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["jobs.notify", "jobs.prune", "jobs.reconcile", "jobs.rollup"]


@pytest.fixture(autouse=True)
def nothing_told(chores: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "BREATH_SECONDS", 0)
    module._kept.clear()
    yield
    module._kept.clear()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune_module, "FIRST_SIZE", 2)
    monkeypatch.setattr(prune_module, "next_size", lambda size, seconds: size)


def result_of(name: str) -> Any:
    """Of one run of it, now."""
    run = trigger(name)
    run_jobs(queues=[SYSTEM_QUEUE])
    assert run.refresh().status == "succeeded", run.error
    return run.result


@pytest.mark.spec("S3.17", "S3.18")
def test_they_are_jobs_of_schedules_like_any_other() -> None:
    scheduled = [job_type for job_type in registry if job_type.name not in (BULK, MAIL, WEBHOOK, WEBHOOK_OF_FAILURES)]
    assert [job_type.name for job_type in scheduled] == NAMES
    assert {(each.queue, each.policy, each.max_attempts) for each in scheduled} == {(SYSTEM_QUEUE, "exclusive", 1)}
    assert registry.get("jobs.reconcile").schedule.timetable == Timetable(every=60)
    with at(0):
        sync_declared(connection)
        tick(connection)
        run_jobs(queues=[SYSTEM_QUEUE])
    assert sorted(ScheduleState.objects.values_list("job_type", flat=True)) == NAMES
    runs = JobRun.objects.filter(state="succeeded", slot_at=T).order_by("job_type")
    assert [run.job_type for run in runs] == NAMES


@pytest.mark.spec("A3.5", "S3.18")
def test_reconciliation_that_is_triggered_while_it_runs_adds_none_and_one_after_its_end() -> None:
    first = trigger("jobs.reconcile")
    Job.objects.update(hold="")
    [running] = take(job_types=NAMES)
    again = [trigger("jobs.reconcile") for _ in range(3)]
    assert {run.id for run in again} == {first.id}
    assert Job.objects.count() == 1
    done(running)
    assert trigger("jobs.reconcile").created
    assert Job.objects.count() == 1


def test_old_runs_go_and_it_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        finished(31, attempts=2, items=1)
    with at(0), caplog.at_level(logging.INFO, "jobs_app.chores"):
        told = result_of("jobs.prune")
    assert told == {"runs": 3, "attempts": 6, "items": 3, "events": 0, "samples": 0}
    assert [record.getMessage() for record in caplog.records] == [
        "pruned history: 3 runs, 6 attempts, 3 items, 0 events, 0 samples"
    ]
    assert not JobRun.objects.exclude(queue=SYSTEM_QUEUE).exists()


def test_nothing_to_prune_is_not_worth_a_word(caplog: pytest.LogCaptureFixture) -> None:
    finished(29)
    with at(0), caplog.at_level(logging.DEBUG, "jobs_app.chores"):
        result_of("jobs.prune")
    assert caplog.records == []


def test_each_time_what_became_old_lately_and_once_a_day_the_rest() -> None:
    """A run that failed stays longer than those around it; one that waited for long ends long after they did."""

    def pruned_at(seconds: float) -> set[Any]:
        lately, rest = finished(31), [finished(91, "failed"), finished(31, queued_at=days_ago(60))]
        with at(seconds):
            result_of("jobs.prune")
        assert lately not in left()
        return {run for run in rest if run not in left()}

    assert [len(pruned_at(seconds)) for seconds in (0, 600, 86_399, 86_400)] == [2, 0, 0, 2]


def test_a_wish_to_stop_is_obeyed_between_batches_and_the_next_run_goes_on(
    small_batches: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        finished(31)
    with at(0), caplog.at_level(logging.INFO, "jobs_app.chores"):
        monkeypatch.setattr(module, "_goes_on", lambda context: lambda: False)
        result_of("jobs.prune")
        assert 0 < JobRun.objects.exclude(queue=SYSTEM_QUEUE).count() < 5
        monkeypatch.undo()
        result_of("jobs.prune")
    assert not JobRun.objects.exclude(queue=SYSTEM_QUEUE).exists()
    assert nothing_is_half()
    assert [record.getMessage().endswith("; there is more") for record in caplog.records] == [True, False]


def test_a_long_one_lets_those_go_first_that_have_waited_and_goes_on_after_them(small_batches: None) -> None:
    """With one worker alone they would wait for an hour."""
    for _ in range(5):
        finished(31)
    with at(0):
        waiting = trigger("jobs.reconcile")
    with at(15):
        long = trigger("jobs.prune")
        run_jobs(job_types="jobs.prune")
        assert 0 < JobRun.objects.exclude(queue=SYSTEM_QUEUE).count() < 5
        assert long.refresh().status == "retrying"
        run_jobs(queues=[SYSTEM_QUEUE])
        assert (waiting.refresh().status, long.refresh().status) == ("succeeded", "retrying")
    with at(25):
        run_jobs(queues=[SYSTEM_QUEUE])
    assert (long.refresh().status, long.attempts) == ("succeeded", 2)
    assert not JobRun.objects.exclude(queue=SYSTEM_QUEUE).exists()


def test_it_is_not_disturbed_by_those_that_another_slot_may_still_take(small_batches: None) -> None:
    for _ in range(5):
        finished(31)
    with at(0):
        trigger("jobs.reconcile")
    with at(14):
        long = trigger("jobs.prune")
        run_jobs(job_types="jobs.prune")
    assert long.refresh().status == "succeeded"
    assert not JobRun.objects.exclude(queue=SYSTEM_QUEUE).exists()


@pytest.mark.parametrize(
    ("cancelled", "left_seconds", "goes_on"),
    [(False, None, True), (False, 11, True), (False, 9, False), (True, 99, False)],
)
def test_a_chore_goes_on_until_it_is_asked_to_stop_or_its_time_is_nearly_over(
    cancelled: bool, left_seconds: float | None, goes_on: bool
) -> None:
    class Context:
        def __init__(self) -> None:
            self.cancelled = cancelled

        def remaining(self) -> float | None:
            return left_seconds

    assert module._goes_on(Context())() is goes_on


def test_their_own_successes_are_kept_for_a_day() -> None:
    with at(-86_401):
        result_of("jobs.rollup")
    with at(0):
        result_of("jobs.prune")
    assert list(JobRun.objects.values_list("job_type", flat=True)) == ["jobs.prune"]


@pytest.mark.spec("S2.18", "S3.20")
def test_without_a_person_only_expired_leases_are_moved_on(settings: Any) -> None:
    settings.JOBS = {"AUTO_RECOVER": False}
    with at(0):
        announce(connection, Presence(id="worker-1", beat_seconds=600))
        expired, lost = (one_running(max_attempts=2) for _ in range(2))
        Job.objects.filter(pk=lost.id).update(worker_id="gone", lease_expires_at=T + timedelta(hours=1))
    with at(31):
        recover(connection, leases=False)
        assert result_of("jobs.reconcile") == {"moved": 1, "kept": {"lost": 1}}
        assert get_run(expired.id).status == "retrying"
        assert get_run(lost.id).status == "running"
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.moved, event.target) == ("jobs.reconcile", "reconcile", 1, str(expired.id))


def test_what_is_moved_on_without_a_person_can_be_set(settings: Any) -> None:
    settings.JOBS = {"RECONCILE_APPLIES": ["lost"]}
    with at(0):
        lost = one_running()
        assert result_of("jobs.reconcile") == {"moved": 1, "kept": {}}
        assert get_run(lost.id).status == "retrying"


def test_what_is_left_as_it_is_is_told_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "jobs_app.chores"):
        with at(0):
            stored(2)
            job = one_running()
            result_of("jobs.reconcile")
            result_of("jobs.reconcile")
        with at(601):
            Job.objects.filter(pk=job.id).update(lease_expires_at=T + timedelta(hours=1))
            result_of("jobs.reconcile")
            announce(connection, Presence(id="worker-1", job_types=["work"]))
            result_of("jobs.reconcile")
            result_of("jobs.reconcile")
    see = "See them with manage.py jobs reconcile --dry-run"
    assert [record.getMessage() for record in caplog.records] == [
        f"stale runs are left as they are: 1 lost. {see}",
        f"stale runs are left as they are: 1 lost, 2 unserved. {see}",
        "no run is stale any more",
    ]


def test_how_full_the_queues_are_is_sampled_each_minute() -> None:
    with at(0):
        stored(3, queue="mail")
        one_running(queue="calls", priority=9)
    with at(30):
        result_of("jobs.rollup")
        waiting = samples.series(connection, "waiting", "mail", T)
        assert [(point.at, point.value) for point in waiting] == [(T, 3)]
        assert [point.value for point in samples.series(connection, "oldest_wait", "mail", T)] == [30]
        assert [point.value for point in samples.series(connection, "running", "calls", T)] == [1]
        assert samples.series(connection, "waiting", SYSTEM_QUEUE, T) == []
    with at(95):
        assert result_of("jobs.rollup") == {"minutes": 2}
        assert [point.at for point in samples.series(connection, "waiting", "mail", T)] == [T, T + timedelta(minutes=1)]
