"""Backoff tables, and the choice between another attempt and an end."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.errors import Cancel, DefinitionInvalid, Fail, Retry, Snooze
from jobs_app.presets import LEASE, PAYMENTS, PLANE, PRESETS, TRANSIENT, Preset
from jobs_app.retry import LONGEST_DELAY, Backoff, Decision, classify, decide


class HttpError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__(f"HTTP {status_code}")
        self.status_code = status_code


def after(error: BaseException, attempts: int, preset: Preset = LEASE, **options: Any) -> Decision:
    """What the preset decides when attempt number `attempts` ended with the error."""
    rules = {
        "max_attempts": preset.max_attempts,
        "backoff": preset.backoff,
        "retry_unknown": preset.retry_unknown,
        "retry_timeouts": preset.retry_timeouts,
    }
    return decide(error, counted_attempts=attempts, **(rules | options))


# Backoff


@pytest.mark.spec("S1.18", "S1.20", "A1.1")
def test_the_table_of_the_lease_preset_without_jitter() -> None:
    backoff = Backoff(base=30, cap=3600, jitter="none")
    assert [backoff.delay_after(attempts) for attempts in range(9)] == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]


@pytest.mark.spec("S1.19", "A1.1")
@pytest.mark.parametrize("attempts", range(9))
def test_jitter_adds_up_to_a_fifth_after_the_cap(attempts: int) -> None:
    plain = Backoff(jitter="none").delay_after(attempts)
    draws = [LEASE.backoff.delay_after(attempts) for _ in range(1000)]
    assert all(plain <= draw <= plain * 1.2 for draw in draws)
    assert max(draws) > plain * 1.15


@pytest.mark.spec("S1.19", "A1.1")
def test_at_the_cap_jitter_reaches_from_3600_to_4320() -> None:
    assert LEASE.backoff.delay_after(8, random=lambda: 0.0) == 3600
    assert LEASE.backoff.delay_after(8, random=lambda: 1.0) == 4320


def test_the_first_failure_of_the_lease_preset_waits_60_to_72_seconds() -> None:
    assert LEASE.backoff.delay_after(1, random=lambda: 0.0) == 60
    assert LEASE.backoff.delay_after(1, random=lambda: 1.0) == 72


@pytest.mark.spec("S3.R1", "S3.21")
@pytest.mark.parametrize(("attempts", "low", "high"), [(1, 60, 120), (2, 120, 240), (3, 240, 480)])
def test_the_transient_preset_spreads_each_wait_up_to_the_next(attempts: int, low: float, high: float) -> None:
    draws = [TRANSIENT.backoff.delay_after(attempts) for _ in range(1000)]
    assert all(low <= draw < high for draw in draws)
    assert TRANSIENT.backoff.delay_after(attempts, random=lambda: 0.0) == low
    assert max(draws) - min(draws) > 0.9 * (high - low)


@pytest.mark.spec("S3.R1")
def test_the_power_is_capped_at_16() -> None:
    assert TRANSIENT.backoff.delay_after(17, random=lambda: 0.0) == 60 * 2**16
    assert TRANSIENT.backoff.delay_after(10_000, random=lambda: 0.0) == 60 * 2**16


@pytest.mark.spec("S3.R1")
def test_a_spread_wait_never_passes_the_cap() -> None:
    backoff = Backoff(base=60, cap=100, jitter="spread", exponent="retries")
    assert backoff.delay_after(1, random=lambda: 0.99) == 100
    assert backoff.delay_after(5, random=lambda: 0.99) == 100


@pytest.mark.spec("S3.R1")
def test_backoff_off_is_a_fixed_delay() -> None:
    assert [PLANE.backoff.delay_after(attempts) for attempts in (1, 2, 3)] == [60, 60, 60]


@pytest.mark.spec("S4.10", "S4.11")
def test_the_payments_preset_waits_1_2_4_8_16_minutes() -> None:
    delays = [PAYMENTS.backoff.delay_after(attempts) / 60 for attempts in range(1, 6)]
    assert delays == [1, 2, 4, 8, 16]
    assert [sum(delays[:tries]) for tries in range(6)] == [0, 1, 3, 7, 15, 31]


@given(
    st.builds(
        Backoff,
        base=st.floats(0, 3600),
        factor=st.floats(1, 1000),
        cap=st.none() | st.floats(3600, 86400),
        jitter=st.sampled_from(["none", "add", "spread"]),
        jitter_ratio=st.floats(0, 1),
        exponent=st.sampled_from(["attempts", "retries"]),
        max_exponent=st.none() | st.integers(0, 100),
    ),
    st.integers(0, 10_000),
)
def test_no_backoff_overflows_or_passes_its_ceiling(backoff: Backoff, attempts: int) -> None:
    ceiling = backoff.cap or LONGEST_DELAY
    assert 0 <= backoff.delay_after(attempts) <= ceiling * (1 + backoff.jitter_ratio)


@given(st.integers(0, 9_999), st.sampled_from([preset.backoff for preset in PRESETS.values()]))
def test_waits_never_get_shorter(attempts: int, backoff: Backoff) -> None:
    shorter, longer = (backoff.delay_after(number, random=lambda: 0.5) for number in (attempts, attempts + 1))
    assert shorter <= longer


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": -1},
        {"base": "30"},
        {"base": float("nan")},
        {"factor": 0.5},
        {"factor": True},
        {"cap": 10, "base": 30},
        {"cap": float("inf")},
        {"jitter": "some"},
        {"jitter_ratio": 2},
        {"exponent": "tries"},
        {"max_exponent": -1},
    ],
)
def test_values_that_cannot_work_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(DefinitionInvalid, match=rf"Backoff\({next(iter(wrong))}="):
        Backoff(**wrong)


# Which errors may be retried


@pytest.mark.spec("S3.R3")
@pytest.mark.parametrize("unknown", [True, False])
def test_an_unknown_error_is_the_choice_of_the_job_type(unknown: bool) -> None:
    assert classify(RuntimeError(), retry_on=(), fail_on=(), retry_unknown=unknown) is unknown


@pytest.mark.spec("S3.11", "S3.12")
def test_what_an_error_is_goes_before_the_rule_for_unknown_ones() -> None:
    assert classify(ConnectionError(), retry_on=(), fail_on=(), retry_unknown=False)
    assert not classify(ValidationError("no"), retry_on=(), fail_on=(), retry_unknown=True)


def test_classes_named_by_the_job_type_go_before_what_an_error_is() -> None:
    assert not classify(ConnectionError(), retry_on=(), fail_on=(OSError,), retry_unknown=True)
    assert classify(HttpError(404), retry_on=(HttpError,), fail_on=(), retry_unknown=False)


def test_the_nearest_named_class_wins() -> None:
    rules: dict[str, Any] = {"retry_unknown": True}
    assert classify(KeyError(), retry_on=(KeyError,), fail_on=(LookupError,), **rules)
    assert not classify(KeyError(), retry_on=(LookupError,), fail_on=(KeyError,), **rules)
    assert not classify(KeyError(), retry_on=(KeyError,), fail_on=(KeyError,), **rules)


# Decisions


@pytest.mark.spec("S1.21")
def test_five_failures_of_the_lease_preset() -> None:
    lows = [after(RuntimeError(), attempts, random=lambda: 0.0) for attempts in range(1, 6)]
    highs = [after(RuntimeError(), attempts, random=lambda: 1.0) for attempts in range(1, 6)]
    assert [decision.delay for decision in lows] == [60, 120, 240, 480, None]
    assert [decision.delay for decision in highs] == [72, 144, 288, 576, None]
    assert [decision.state for decision in lows] == ["queued"] * 4 + ["failed"]
    assert lows[-1].done_reason == "exhausted"
    assert {decision.outcome for decision in lows} == {"error"}


@pytest.mark.spec("S3.13", "S3.R1")
def test_the_transient_preset_retries_a_lost_connection_three_times() -> None:
    decisions = [after(ConnectionError(), attempts, TRANSIENT) for attempts in range(1, 5)]
    assert [decision.state for decision in decisions] == ["queued", "queued", "queued", "failed"]
    delays = [decision.delay or 0 for decision in decisions[:3]]
    assert all(low <= delay < 2 * low for delay, low in zip(delays, (60, 120, 240), strict=True))


@pytest.mark.spec("S3.12", "S3.16", "S3.R2", "A3.2")
@pytest.mark.parametrize(
    "error", [HttpError(404), HttpError(401), HttpError(403), ValidationError("no"), RuntimeError()]
)
def test_a_permanent_error_fails_the_transient_preset_at_once(error: Exception) -> None:
    decision = after(error, 1, TRANSIENT)
    assert decision == Decision(state="failed", outcome="error", done_reason="permanent")
    assert decision.delay is None


@pytest.mark.spec("S3.11", "A3.2")
@pytest.mark.parametrize("status", [429, 503])
def test_429_and_503_are_retried_by_the_transient_preset(status: int) -> None:
    assert after(HttpError(status), 1, TRANSIENT).state == "queued"


@pytest.mark.spec("S3.R3", "A3.2")
def test_words_in_a_message_decide_nothing() -> None:
    assert after(ValueError("processed 500 items"), 1, TRANSIENT).state == "failed"
    assert after(ValueError("404 not found"), 1, LEASE).state == "queued"


@pytest.mark.spec("S4.8", "S4.9", "S4.11")
def test_the_payments_preset_retries_five_times_and_fails_on_the_sixth() -> None:
    decisions = [after(RuntimeError(), attempts, PAYMENTS) for attempts in range(1, 7)]
    assert [decision.delay for decision in decisions] == [60, 120, 240, 480, 960, None]
    assert [decision.state for decision in decisions] == ["queued"] * 5 + ["failed"]


def test_a_passed_deadline_is_final_unless_timeouts_are_retried() -> None:
    final = after(RuntimeError(), 1, TRANSIENT, timed_out=True)
    assert (final.state, final.outcome, final.done_reason) == ("failed", "timeout", "timeout")
    again = after(RuntimeError(), 1, PLANE, timed_out=True)
    assert (again.state, again.outcome, again.delay) == ("queued", "timeout", 60)


def test_retry_takes_its_own_delay_or_the_backoff_and_spends_the_attempt() -> None:
    assert after(Retry(after=5), 1) == Decision(state="queued", delay=5)
    assert after(Retry(), 1, PAYMENTS) == Decision(state="queued", delay=60)
    assert after(Retry(after=0), 1).delay == 0
    assert after(Retry(after=5), 5) == Decision(state="failed", done_reason="exhausted")


def test_retry_is_obeyed_where_unknown_errors_are_not_retried() -> None:
    assert after(Retry(), 1, TRANSIENT).state == "queued"


def test_snooze_comes_back_without_spending_the_attempt() -> None:
    assert after(Snooze(90), 5) == Decision(state="queued", outcome="snoozed", delay=90, free=True)


def test_fail_ends_at_once_whatever_is_left() -> None:
    assert after(Fail("wrong address"), 1) == Decision(state="failed", done_reason="permanent")


def test_cancel_ends_as_cancelled() -> None:
    assert after(Cancel(), 1) == Decision(state="cancelled", outcome="cancelled", done_reason="cancelled")


@given(st.integers(1, 50), st.integers(1, 50), st.sampled_from([RuntimeError(), ConnectionError(), Retry(), Snooze(1)]))
def test_a_job_that_is_over_has_a_reason_and_a_job_that_is_not_has_a_delay(
    attempts: int, most: int, error: Exception
) -> None:
    decision = after(error, attempts, max_attempts=most, random=random.random)
    assert (decision.state == "queued") == (decision.delay is not None) == (decision.done_reason == "")
    assert decision.free or decision.state == "failed" or attempts < most
