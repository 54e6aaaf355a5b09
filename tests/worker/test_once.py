"""What `runworker --once` tells, and when it is over."""

from __future__ import annotations

import re
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs_app import Backoff, Cancel, Snooze, job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobRun
from jobs_app.runtime.identity import Identity
from jobs_app.serving import Serving
from jobs_app.worker.loop import Worker
from jobs_app.worker.once import OnceReport
from jobs_app.worker.reserved_slot import ReservedSlot
from tests.waiting import until
from tests.worker.harness import outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)


def told(serves: Any = lambda queue: True, **options: Any) -> list[str]:
    """Work off what is due; the lines that were told."""
    lines: list[str] = []
    report = OnceReport(lines.append, serves)
    report.begin()
    with working(once=True, **options) as worker:
        until(worker.is_drained, every=0.005)
    report.end()
    return lines


@pytest.mark.spec("S4.6", "S4.15", "S4.17", "S4.18", "A4.4")
def test_each_step_of_each_job_is_told_and_the_sum_at_the_end() -> None:
    @job(preset="payments", name="charge")
    def charge(ok: bool) -> None:
        if not ok:
            raise ConnectionError("card reader is away")

    runs = [charge.options(subject=f"sub-{number}").enqueue(ok=number != 3) for number in range(5)]
    later = charge.options(delay=3600).enqueue(ok=True)
    lines = told()
    assert lines[:2] == ["🔄 Worker started - processing all pending jobs...", "📊 Found 5 pending jobs to process"]
    assert lines[-1] == "📊 Worker completed - Processed: 5 | Success: 4 | Retry: 1 | Failed: 0"
    for number, run in enumerate(runs):
        of_run = [line for line in lines if str(run.id) in line]
        assert of_run[0] == f"📦 Processing job {run.id} for charge sub-{number} (attempt 1/6)"
        if number != 3:
            assert of_run[1:] == [f"✅ Job {run.id} completed successfully"]
        else:
            assert of_run[1] == f"❌ Job {run.id} failed: card reader is away"
            retry = rf"🔄 Job {run.id} scheduled for retry 1/5 at \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z"
            assert re.fullmatch(retry, of_run[2])
    assert (state(runs[3]), state(later)) == ("queued", "queued")


@pytest.mark.spec("S4.9", "S4.17")
def test_a_job_that_fails_for_good_is_told_so() -> None:
    @job(max_attempts=1)
    def doomed() -> None:
        raise RuntimeError("no")

    run = doomed.enqueue()
    lines = told()
    assert lines[-3:] == [
        f"❌ Job {run.id} failed: no",
        f"💀 Permanently failed: job {run.id}",
        "📊 Worker completed - Processed: 1 | Success: 0 | Retry: 0 | Failed: 1",
    ]


@pytest.mark.spec("S4.R6")
def test_nothing_due_is_told_too() -> None:
    assert told() == [
        "🔄 Worker started - processing all pending jobs...",
        "📊 No pending jobs found",
        "📊 Worker completed - Processed: 0 | Success: 0 | Retry: 0 | Failed: 0",
    ]


def test_only_what_is_served_is_counted_and_run() -> None:
    @job
    def work() -> None: ...

    @job(name="unknown")
    def unknown() -> None: ...

    from jobs_app.registry import registry

    runs = [work.options(queue=queue).enqueue() for queue in ("mail", "sync", "sync")]
    unknown.options(queue="mail").enqueue()
    registry.unregister("unknown")
    lines = told(lambda queue: queue == "mail", queues=("mail",))
    assert "📊 Found 1 pending jobs to process" in lines
    assert lines[-1] == "📊 Worker completed - Processed: 1 | Success: 1 | Retry: 0 | Failed: 0"
    assert [state(run) for run in runs] == [None, "queued", "queued"]


def test_the_apps_own_chores_are_neither_counted_nor_told() -> None:
    @job(name="jobs.own", queue="jobs.system")
    def own() -> None: ...

    own.enqueue()
    lines: list[str] = []
    report = OnceReport(lines.append, Serving())
    report.begin()
    ReservedSlot(Identity.new(), lease=30, may_take=lambda connection: True).work_off()
    report.end()
    assert JobRun.objects.get().state == "succeeded"
    assert lines[1:] == [
        "📊 No pending jobs found",
        "📊 Worker completed - Processed: 0 | Success: 0 | Retry: 0 | Failed: 0",
    ]


def test_cancelled_and_snoozed_jobs_are_processed() -> None:
    @job
    def never() -> None:
        raise Cancel("no need")

    @job
    def later() -> None:
        raise Snooze(3600)

    never.enqueue()
    later.enqueue()
    assert told()[-1] == "📊 Worker completed - Processed: 2 | Success: 0 | Retry: 1 | Failed: 0"


def test_what_meets_a_maintenance_window_was_not_processed(settings: Any) -> None:
    @job
    def work() -> None: ...

    settings.JOBS = {"MAINTENANCE_WINDOWS": "07:00"}
    with frozen_clock(datetime(2026, 1, 1, 7, 5, tzinfo=UTC)):
        runs = work.enqueue_many([{}] * 3)
        lines = told()
    assert lines[-1] == "📊 Worker completed - Processed: 0 | Success: 0 | Retry: 0 | Failed: 0"
    assert not any("retry" in line for line in lines)
    assert [outcomes(run) for run in runs] == [["deferred"]] * 3


def test_jobs_that_jobs_enqueue_are_worked_off_too() -> None:
    """Also where the claimer had found nothing while their parent still ran."""

    @job
    def child(depth: int) -> None:
        time.sleep(0.05)
        if depth:
            child.enqueue(depth=depth - 1)

    child.enqueue(depth=6)
    told(poll=5, concurrency=2)
    assert (JobRun.objects.count(), Job.objects.count()) == (7, 0)


def test_a_queue_that_a_job_made_is_found_without_being_told() -> None:
    @job
    def child() -> None: ...

    @job
    def parent() -> None:
        child.options(queue="elsewhere", priority=3).enqueue()

    parent.enqueue()
    told(listen=False)
    assert (JobRun.objects.count(), Job.objects.count()) == (2, 0)


def test_a_retry_that_is_due_at_once_is_worked_off_too() -> None:
    @job(max_attempts=4, backoff=Backoff(base=0, factor=1, jitter="none"))
    def stubborn() -> None:
        raise ConnectionError("away")

    run = stubborn.enqueue()
    assert told()[-1] == "📊 Worker completed - Processed: 4 | Success: 0 | Retry: 3 | Failed: 1"
    assert outcomes(run) == ["error"] * 4


def test_long_jobs_behind_short_ones_are_not_forgotten() -> None:
    """Claims ahead look at short types only: when they find nothing it is not over."""

    @job
    def short() -> None: ...

    @job
    def long() -> None:
        time.sleep(0.03)

    short.enqueue_many([{}] * 60)
    long.enqueue_many([{}] * 20)
    short.enqueue_many([{}] * 60)
    told(concurrency=2)
    assert (JobRun.objects.count(), Job.objects.count()) == (140, 0)


def test_what_a_stop_gives_back_was_not_processed() -> None:
    gate = threading.Event()

    @job
    def long() -> None:
        gate.wait(20)

    lines: list[str] = []
    report = OnceReport(lines.append, lambda queue: True)
    long.enqueue()
    report.begin()
    worker: Worker
    with working(once=True, grace=0.1) as worker:
        until(worker.hangar.running, every=0.01)
    report.end()
    gate.set()
    assert lines[-1] == "📊 Worker completed - Processed: 0 | Success: 0 | Retry: 0 | Failed: 0"
    assert not any("retry" in line for line in lines)


def test_it_is_over_also_where_a_process_may_run_only_so_many_of_some_types() -> None:
    """Each of them is claimed by itself, and in each the last look must find nothing."""
    for number in range(3):
        job(name=f"limited-{number}", concurrency_per_process=2)(lambda: None).enqueue()
    assert told()[-1] == "📊 Worker completed - Processed: 3 | Success: 3 | Retry: 0 | Failed: 0"
