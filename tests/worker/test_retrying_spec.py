"""Runs that fail and come back, told as their presets tell them, attempt by attempt under a frozen clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from jobs_app import Cancel, Fail, get_run, job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.registry import registry
from tests.by_hand import HandWorker, live

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def enqueued(ends: Iterable[BaseException | None], **options: Any) -> Any:
    """A run whose attempts end as given, one after another, enqueued at noon."""
    script = iter(ends)

    @job(name="scripted", **options)
    def scripted() -> str:
        error = next(script)
        if error is not None:
            raise error
        return "done"

    with frozen_clock(NOW):
        return scripted.enqueue()


def attempts_of(run: Any) -> list[JobAttempt]:
    return list(JobAttempt.objects.filter(job_id=run.id).order_by("number"))


def seconds_between(moments: list[datetime]) -> list[float]:
    return [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]


@pytest.mark.spec("A1.2", "S1.2", "S1.5", "S1.21", "S1.23", "S1.R2")
def test_a_job_of_the_lease_preset_that_always_fails_has_five_attempts_and_four_waits() -> None:
    run = enqueued([RuntimeError(f"no {number}") for number in range(1, 7)], preset="lease")
    waits = seconds_between(live(run, NOW))
    assert [low <= wait <= 1.2 * low for wait, low in zip(waits, (60, 120, 240, 480), strict=True)] == [True] * 4
    assert (run.status, run.attempts, run.error) == ("failed", 5, "no 5")
    assert JobRun.objects.get(pk=run.id).done_reason == "exhausted"
    assert [(one.number, one.success, one.message) for one in attempts_of(run)] == [
        (number, False, f"no {number}") for number in range(1, 6)
    ]
    with frozen_clock(NOW + timedelta(days=365)):
        assert HandWorker().claim() == []


@pytest.mark.spec("S1.5", "S1.24", "S4.12")
def test_a_job_that_waits_for_its_retry_is_not_claimed_before_it_is_due() -> None:
    run = enqueued([RuntimeError("no"), None], preset="payments")
    with frozen_clock(NOW):
        HandWorker().work()
    waiting = Job.objects.get(pk=run.id)
    assert (waiting.state, waiting.last_error, waiting.run_at) == ("queued", "no", NOW + timedelta(minutes=1))
    with frozen_clock(NOW + timedelta(seconds=59)):
        assert HandWorker().claim() == []
    with frozen_clock(NOW + timedelta(hours=6)):
        assert HandWorker().work() is not None
    assert run.refresh().status == "succeeded"


@pytest.mark.spec("A2.3", "S2.11", "S2.30", "S2.R4")
def test_two_failures_and_a_success_are_one_run_with_three_attempts() -> None:
    run = enqueued([RuntimeError("first"), RuntimeError("second"), None], preset="plane")
    words = []
    for minute in range(3):
        with frozen_clock(NOW + timedelta(minutes=minute)):
            HandWorker().work()
        words.append((run.refresh().status, run.label))
    assert words == [("retrying", "failed"), ("retrying", "failed"), ("succeeded", "success")]
    assert (run.attempts, run.retry_count, run.error, run.result) == (3, 2, "", "done")
    assert [one.outcome for one in attempts_of(run)] == ["error", "error", "success"]
    assert JobRun.objects.count() == 1
    assert len({one.token for one in attempts_of(run)}) == 3


@pytest.mark.spec("A2.3", "S2.30")
def test_a_job_of_the_plane_preset_that_always_fails_ends_after_four_attempts() -> None:
    run = enqueued([RuntimeError("no")] * 9, preset="plane")
    assert seconds_between(live(run, NOW)) == [60, 60, 60]
    assert (run.status, run.label, len(attempts_of(run))) == ("failed", "failed", 4)
    assert run.finished_at == NOW + timedelta(minutes=3)


@pytest.mark.spec("A3.1", "S3.13", "S3.14")
@pytest.mark.parametrize(("fourth", "end"), [(None, "COMPLETED"), (ConnectionError(), "FAILED")])
def test_lost_connections_are_retried_three_times_and_shown_as_running(fourth: Exception | None, end: str) -> None:
    run = enqueued([*(ConnectionError() for _ in range(3)), fourth], preset="transient")
    moments, shown = [NOW], []
    for number in range(1, 5):
        with frozen_clock(moments[-1]):
            HandWorker().work()
        shown.append(run.refresh().label)
        assert run.attempts == number
        moments.append(run.run_at)
    assert shown == ["RUNNING", "RUNNING", "RUNNING", end]
    waits = seconds_between(moments[:4])
    assert all(low <= wait < 2 * low for wait, low in zip(waits, (60, 120, 240), strict=True))


@pytest.mark.spec("S3.12", "S3.16", "S3.R2")
@pytest.mark.parametrize("error", [ValidationError("no"), Fail("wrong address")])
def test_a_permanent_error_ends_the_run_and_nothing_brings_it_back(error: Exception) -> None:
    run = enqueued([error], preset="transient")
    assert live(run, NOW) == [NOW]
    assert (run.status, run.attempts, JobRun.objects.get(pk=run.id).done_reason) == ("failed", 1, "permanent")
    assert not Job.objects.exists()
    with frozen_clock(NOW + timedelta(days=365)):
        assert HandWorker().claim() == []


@pytest.mark.spec("S4.8", "S4.9", "S4.11", "S4.14", "S4.R2")
def test_payments_run_at_0_1_3_7_15_and_31_minutes_and_fail_for_good_on_the_sixth() -> None:
    run = enqueued([RuntimeError("declined")] * 9, preset="payments")
    told, due = [], NOW
    while not run.refresh().is_finished:
        with frozen_clock(due):
            HandWorker().work()
        due = run.refresh().run_at
        told.append((run.label, run.retry_count, run.finished_at, run.error))
    assert told[:5] == [("PENDING", number, None, "declined") for number in range(5)]
    assert told[5] == ("FAILED", 5, NOW + timedelta(minutes=31), "declined")
    starts = [one.started_at - NOW for one in attempts_of(run)]
    assert starts == [timedelta(minutes=minute) for minute in (0, 1, 3, 7, 15, 31)]


@pytest.mark.spec("S4.7", "S4.13", "S4.14")
def test_a_payment_that_succeeds_at_its_third_try_has_its_end_from_then() -> None:
    declined = [RuntimeError("declined"), RuntimeError("declined")]

    @job(preset="payments", subject="subscription")
    def charge(subscription: str) -> None:
        if declined:
            raise declined.pop()

    with frozen_clock(NOW):
        run = charge.enqueue(subscription="sub-7")
    assert len(live(run, NOW)) == 3
    stored = get_run(run.id)
    assert (stored.label, stored.retry_count, stored.error) == ("SUCCESS", 2, "")
    assert stored.finished_at == NOW + timedelta(minutes=3)
    assert JobRun.objects.get(pk=run.id).subject == "sub-7"


@pytest.mark.spec("S0.R10")
def test_a_job_of_the_rate_preset_is_tried_once() -> None:
    run = enqueued([ConnectionError("reset")], preset="rate")
    assert live(run, NOW) == [NOW]
    assert (run.status, run.label, run.error) == ("failed", "failed", "reset")


@pytest.mark.spec("S3.R5")
def test_a_handler_that_cancels_itself_ends_as_cancelled_with_its_reason() -> None:
    run = enqueued([Cancel("account closed")], preset="transient")
    live(run, NOW)
    assert (run.status, run.label, run.error) == ("cancelled", "CANCELLED", "account closed")
    assert [one.outcome for one in attempts_of(run)] == ["cancelled"]


@pytest.mark.spec("S2.R2")
def test_a_payload_that_no_longer_fits_its_handler_fails_the_run_and_is_kept() -> None:
    @job(name="report")
    def old(account: str) -> None: ...

    with frozen_clock(NOW):
        run = old.enqueue(account="north")
    registry.unregister("report")

    @job(name="report")
    def new(region: int) -> None: ...

    live(run, NOW)
    assert (run.status, run.attempts, run.payload) == ("failed", 1, {"account": "north"})
    assert "account" in run.error


@pytest.mark.spec("S3.R6")
def test_a_stored_error_is_clean_and_short_and_the_start_is_logged_with_its_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = enqueued([ConnectionError("bad\x00\x1b" + "x" * 5000), None], preset="transient")
    with caplog.at_level("DEBUG", "jobs_app"):
        live(run, NOW)
    first = attempts_of(run)[0].message
    assert (first[:4], len(first), first[-3:]) == ("badx", 1000, "...")
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Processing")]
    assert told == ["Processing scripted (attempt 1/4)", "Processing scripted (attempt 2/4)"]
