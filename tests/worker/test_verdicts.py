"""How an attempt ends that passed its deadline, or that somebody asked to stop."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

from jobs_app import Cancel, Fail, Retry, Snooze, current_job, job
from jobs_app.lifecycle.moves import Ended
from jobs_app.worker.flight import Flight, board
from jobs_app.worker.runner import interrupted, run, run_async
from jobs_app.worker.verdicts import tell_if_overdue
from tests.worker.flights import claimed, flight_of

GRACE = 5.0  # as the settings have it


def flown(function: Any, *, late: float | None = None, asked: bool = False, cut: Any = None, **options: Any) -> Ended:
    """An attempt of a job with a timeout of 240 s whose handler ends `late` seconds after the deadline."""

    def handler() -> Any:
        if late is not None:
            flight.started = time.monotonic() - 240 - late
            flight.context.begin(flight.started, 240)
        flight.context.cancelled, flight.cut = asked, cut
        return function()

    async def waiting() -> Any:
        return handler()

    is_async, attempts = options.pop("is_async", False), options.pop("attempts", 1)
    flight = flight_of(job(name="sample", **options)(waiting if is_async else handler), attempts=attempts)
    flight.timeout = 240
    report = asyncio.run(run_async(flight)) if is_async else run(flight)
    assert report is not None
    return report.ended


def raising(error: BaseException) -> Any:
    def handler() -> None:
        raise error

    return handler


def is_passed(text: str, more: str = "") -> bool:
    return bool(re.fullmatch(r"timed out after 24\S+ s \(limit 240 s\)" + re.escape(more), text))


def end(ended: Ended) -> tuple[str, str, str]:
    return ended.state, ended.outcome, ended.done_reason


TIMEOUT = ("failed", "timeout", "timeout")
CANCELLED = ("cancelled", "cancelled", "cancelled")


# Deadlines


@pytest.mark.parametrize("is_async", [False, True])
def test_a_success_stands_until_the_grace_after_the_deadline_is_over(is_async: bool) -> None:
    ended = flown(lambda: "done", late=GRACE - 1, is_async=is_async)
    assert (ended.state, ended.outcome, ended.result) == ("succeeded", "success", '"done"')


@pytest.mark.spec("S3.6", "S3.9")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_success_after_the_grace_is_a_timeout_and_its_result_is_not_kept(is_async: bool) -> None:
    ended = flown(lambda: "done", late=GRACE + 0.1, is_async=is_async)
    assert (end(ended), ended.result) == (TIMEOUT, None)
    assert is_passed(ended.error, "; what it returned is not kept")
    assert ended.error_class == "jobs_app.errors.JobTimeout"


@pytest.mark.spec("S3.9", "A3.3")
def test_a_check_after_the_deadline_fails_the_run_for_good() -> None:
    ended = flown(lambda: current_job().check_timeout(), late=0.2)
    assert (end(ended), is_passed(ended.error)) == (TIMEOUT, True)
    assert "check_timeout" in ended.traceback


def test_any_error_after_the_deadline_is_a_timeout_that_tells_it() -> None:
    ended = flown(raising(ConnectionError("reset by peer")), late=1)
    assert (end(ended), is_passed(ended.error, ": ConnectionError: reset by peer")) == (TIMEOUT, True)
    assert "reset by peer" in ended.traceback
    assert end(flown(raising(ConnectionError("reset by peer")), late=-1)) == ("queued", "error", "")


def test_timeouts_are_retried_where_the_type_says_so_and_while_attempts_are_left() -> None:
    check = lambda: current_job().check_timeout()  # noqa: E731
    again = flown(check, late=1, retry_timeouts=True)
    assert (end(again), again.delay > 0) == (("queued", "timeout", ""), True)
    assert end(flown(check, late=1, retry_timeouts=True, attempts=5)) == ("failed", "timeout", "exhausted")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Retry(after=9), ("queued", "timeout", "")),
        (Snooze(9), ("queued", "snoozed", "")),
        (Fail("no"), ("failed", "error", "permanent")),
        (Cancel("no need"), CANCELLED),
    ],
)
def test_what_a_handler_says_about_its_end_counts_after_the_deadline_too(said: Exception, expected: Any) -> None:
    assert end(flown(raising(said), late=1)) == expected


def test_a_timeout_that_cannot_be_told_fails_its_job_for_good_and_unrun() -> None:
    ran: list[str] = []

    @job(timeout=lambda payload: payload["pages"] * 60)
    def report(pages: int = 1) -> None:
        ran.append("report")

    flight = board(claimed(job_type="report"), worker="w", worker_id="w-1", lease=30)
    finished = run(flight)
    assert finished is not None
    assert (end(finished.ended), ran) == (("failed", "error", "permanent"), [])
    assert finished.ended.error == "the timeout of report cannot be told: KeyError: 'pages'"


def test_what_was_asked_for_at_the_enqueue_goes_before_what_the_type_says() -> None:
    @job(timeout=10, lease=7)
    def report() -> None: ...

    def boarded(**changes: Any) -> Flight:
        return board(claimed(job_type="report", **changes), worker="w", worker_id="w-1", lease=30)

    assert (boarded().timeout, boarded(timeout_seconds=99.0).timeout, boarded().lease) == (10, 99, 7)
    assert boarded().deadline is None
    flight = boarded()
    flight.started = 1000.0
    assert flight.deadline == 1010


def test_that_a_job_is_overdue_is_told_once_and_after_the_grace(caplog: pytest.LogCaptureFixture) -> None:
    flight = flight_of(job(name="sample")(lambda: None))
    flight.timeout = 240
    for late in (-1, GRACE - 1, GRACE + 1, GRACE + 2):
        flight.started = time.monotonic() - 240 - late
        tell_if_overdue(flight)
    [told] = [record.getMessage() for record in caplog.records]
    assert told == f"job={flight.job.id} is overdue: it runs for 246 s, its limit is 240 s"


# Wishes to stop


def test_a_success_stands_though_somebody_had_asked_the_job_to_stop() -> None:
    assert end(flown(lambda: "done", asked=True)) == ("succeeded", "success", "worker_done")


def test_a_handler_that_stops_as_asked_is_cancelled() -> None:
    ended = flown(lambda: current_job().raise_if_cancelled(), asked=True)
    assert (end(ended), ended.error, ended.traceback) == (CANCELLED, "asked to stop", "")


@pytest.mark.parametrize("error", [ConnectionError("away"), Retry("away"), Snooze(60, "away"), Cancel("away")])
def test_an_error_after_the_wish_to_stop_cancels_the_run_and_is_kept(error: Exception) -> None:
    ended = flown(raising(error), asked=True)
    assert (end(ended), ended.error, ended.free) == (CANCELLED, "away", False)


def test_a_handler_may_still_say_that_it_failed() -> None:
    assert end(flown(raising(Fail("broken")), asked=True)) == ("failed", "error", "permanent")


def test_the_wish_to_stop_goes_before_the_deadline() -> None:
    assert end(flown(lambda: current_job().check_timeout(), asked=True, late=1)) == CANCELLED


def test_a_job_that_was_asked_to_stop_before_it_starts_does_not_run() -> None:
    ran: list[str] = []
    flight = flight_of(job(name="sample")(lambda: ran.append("sample")))
    flight.context.cancelled = True
    report = run(flight)
    assert report is not None
    assert (end(report.ended), ran) == (CANCELLED, [])


@pytest.mark.parametrize("state", ["queued", "failed"])
def test_a_job_that_was_asked_to_stop_does_not_outlive_its_worker(state: str) -> None:
    flight = flight_of(job(name="sample")(lambda: None))
    assert interrupted(flight, state=state, error="Worker shutdown").outcome == "interrupted"
    flight.context.cancelled = True
    ended = interrupted(flight, state=state, error="Worker shutdown")
    assert (end(ended), ended.error, ended.free) == (CANCELLED, "Worker shutdown", False)


# Force


@pytest.mark.parametrize("ends", [lambda: "done", raising(ValueError("late")), raising(Fail("no")), raising(Retry())])
def test_what_was_aborted_is_cancelled_whatever_it_says_after(ends: Any) -> None:
    ended = flown(ends, cut="cancelled", asked=True)
    assert (end(ended), ended.result, ended.error[:16]) == (CANCELLED, None, "stopped by force")


@pytest.mark.parametrize("ends", [lambda: "done", raising(ValueError("late")), raising(asyncio.CancelledError())])
def test_what_was_cut_at_its_deadline_is_a_timeout_whatever_it_says_after(ends: Any) -> None:
    ended = flown(ends, cut="timeout", late=0.1)
    assert (end(ended), ended.result) == (TIMEOUT, None)
    assert "(limit 240 s)" in ended.error
