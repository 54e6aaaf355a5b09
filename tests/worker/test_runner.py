"""One attempt of one handler, and how it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import pytest
from django.utils.translation import activate, get_language

from jobs_app import Cancel, Fail, Retry, Snooze, job
from jobs_app.lifecycle.moves import Ended
from jobs_app.registry import registry
from jobs_app.retry import LONGEST_DELAY
from jobs_app.worker.runner import run, run_async
from tests.worker.flights import flight_of


def attempt(function: Any, *, options: dict[str, Any] | None = None, **changes: Any) -> Ended:
    flight = flight_of(job(name="sample", **(options or {}))(function), **changes)
    report = asyncio.run(run_async(flight)) if flight.job_type.is_async else run(flight)
    assert report is not None
    assert flight.ended
    return report.ended


def raising(error: BaseException) -> Any:
    def sample() -> None:
        raise error

    return sample


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_that_returns_has_succeeded_with_its_result(is_async: bool) -> None:
    def plain() -> dict[str, int]:
        return {"pages": 3}

    async def waiting() -> dict[str, int]:
        return {"pages": 3}

    ended = attempt(waiting if is_async else plain)
    assert (ended.state, ended.outcome, ended.result) == ("succeeded", "success", '{"pages":3}')


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("error", [RuntimeError("no"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_a_handler_raises_ends_its_attempt_only(is_async: bool, error: BaseException) -> None:
    async def waiting() -> None:
        raise error

    ended = attempt(waiting if is_async else raising(error))
    assert (ended.state, ended.outcome) == ("queued", "error")
    assert type(error).__name__ in ended.traceback
    assert ended.error


def test_an_error_that_cannot_be_shown_is_told_all_the_same() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("even this fails")

    ended = attempt(raising(Odd()))
    assert ended.error == "<Odd that cannot be shown as text>"
    assert ended.error_class.endswith("Odd")


@pytest.mark.spec("S3.R6")
def test_an_error_text_loses_control_characters_and_is_cut() -> None:
    ended = attempt(raising(RuntimeError("a\0b\x1b" + "c" * 2000)))
    assert (len(ended.error), ended.error[:3], ended.error[-3:]) == (1000, "abc", "...")
    assert "\0" not in ended.traceback


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (object(), "has no JSON form"),
        ("a\0b", "NUL"),
        (float("nan"), "NaN"),
        ({1: 2}, "not text"),
        ("x" * 2_000_000, "more than"),
    ],
)
def test_a_result_that_cannot_be_stored_is_replaced_by_the_reason(result: Any, says: str) -> None:
    ended = attempt(lambda: result)
    assert (ended.state, ended.outcome) == ("succeeded", "success")
    assert ended.result is not None
    assert says in json.loads(ended.result)["not_stored"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Retry("later", after=90), ("queued", "error", 90.0, False)),
        (Snooze(timedelta(minutes=2), "not yet"), ("queued", "snoozed", 120.0, True)),
        (Fail("wrong"), ("failed", "error", 0.0, False)),
        (Cancel("no need"), ("cancelled", "cancelled", 0.0, False)),
    ],
)
def test_a_handler_may_say_how_its_attempt_ends(error: Exception, expected: tuple[Any, ...]) -> None:
    ended = attempt(raising(error))
    assert (ended.state, ended.outcome, ended.delay, ended.free) == expected
    assert (ended.error, ended.traceback) == (str(error), "")


def test_the_error_behind_a_directive_is_kept() -> None:
    def sample() -> None:
        try:
            raise ConnectionError("the bank did not answer")
        except ConnectionError as error:
            raise Retry(after=30) from error

    ended = attempt(sample, attempts=5)
    assert (ended.state, ended.error) == ("failed", "the bank did not answer")
    assert "ConnectionError" in ended.traceback


def test_a_directive_without_a_word_is_named() -> None:
    assert attempt(raising(Fail())).error == "Fail"


def test_a_directive_of_the_hosts_own_need_not_call_up() -> None:
    class RateLimited(Retry):
        def __init__(self) -> None:
            pass

    assert attempt(raising(RateLimited())).state == "queued"


def test_an_error_that_cannot_be_judged_ends_the_job() -> None:
    class Odd(Retry):
        after = property(lambda self: 1 / 0)  # type: ignore[assignment]

        def __init__(self) -> None:
            pass

    ended = attempt(raising(Odd()))
    assert (ended.state, ended.error_class) == ("failed", "ZeroDivisionError")


def test_a_snooze_is_never_so_short_that_the_job_spins() -> None:
    assert attempt(raising(Snooze(0))).delay == 1.0


def test_what_one_job_sets_in_its_context_is_not_the_next_ones() -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen = []

    def sample() -> None:
        seen.append((tenant.get(), get_language()))
        tenant.set("acme")
        activate("de")

    attempt(sample)
    attempt(sample)
    assert seen == [("nobody", "en-us")] * 2


def test_a_retry_that_asks_for_too_much_time_gets_what_a_calendar_has() -> None:
    assert attempt(raising(Retry(after=1e300))).delay == LONGEST_DELAY
    assert attempt(raising(Snooze(1e12))).delay == LONGEST_DELAY


def test_a_retry_spends_an_attempt_and_the_last_one_ends_the_run() -> None:
    ended = attempt(raising(Retry(after=1)), attempts=5)
    assert (ended.state, ended.done_reason) == ("failed", "exhausted")


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ('{"n": "seven"}', "n"),
        ('{"m": 7}', "m"),
        ("{}", "n"),
        ("[7]", "is a list and not an object"),
        ("{", "is not JSON"),
    ],
)
def test_a_payload_that_no_longer_fits_fails_the_job_with_the_reason(payload: str, says: str) -> None:
    called = []

    def sample(n: int) -> None:
        called.append(n)

    ended = attempt(sample, payload=payload)
    assert (ended.state, ended.done_reason, called) == ("failed", "permanent", [])
    assert says in ended.error


def test_what_gave_back_work_to_be_done_has_not_succeeded() -> None:
    async def hidden() -> str:
        return "never"

    def coroutine() -> Any:
        return hidden()

    def generator() -> Iterator[int]:
        yield 1

    async def agenerator() -> AsyncIterator[int]:
        yield 1

    for function in (coroutine, generator, agenerator):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.unraisablehook", lambda _: None)
            ended = attempt(function)
        assert (ended.state, ended.done_reason) == ("failed", "permanent")
        assert "did nothing" in ended.error
        registry.unregister("sample")


def test_log_and_result_of_a_failed_attempt_are_kept_apart() -> None:
    def sample(context: Any) -> None:
        context.log("about to fail")
        context.set_result("half")
        raise RuntimeError("no")

    ended = attempt(sample, options={"takes_context": True})
    assert (ended.log, ended.result) == ("about to fail", None)


def test_a_flight_that_was_given_up_has_no_second_report() -> None:
    flight = flight_of(job(name="sample")(lambda: None))
    assert flight.end()
    assert run(flight) is None
