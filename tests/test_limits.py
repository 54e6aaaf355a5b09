"""Rates as arithmetic, and the rules of queues as the settings give them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.errors import SettingsInvalid
from jobs_app.limits import NO_RULES, READERS, Limits, QueueRules, Rate, gate, read_queues

T = datetime(2026, 1, 1, tzinfo=UTC)
# Above some ten thousand a second a microsecond, the least that a database tells, is much of a step.
rates = st.builds(
    lambda seconds, starts: Rate(min(starts, max(1, int(seconds * 10_000))), seconds),
    st.floats(0.01, 100_000),
    st.integers(1, 5_000),
)


def starts_of(rate: Rate, looks: list[float]) -> list[datetime]:
    """When jobs start of which there are always enough, if somebody looks after each of these pauses."""
    started: list[datetime] = []
    next_free, now = None, T
    for pause in looks:
        now += timedelta(seconds=pause * rate.seconds)
        granted, next_free = rate.take(next_free, now, 10_000)
        started += [now] * granted
    return started


@given(rates, st.lists(st.floats(0, 1.5), min_size=1, max_size=40))
def test_in_any_period_there_are_no_more_starts_than_the_rate_allows(rate: Rate, looks: list[float]) -> None:
    started = starts_of(rate, looks)
    period = timedelta(seconds=rate.seconds)
    for place, first in enumerate(started):
        within = [moment for moment in started[place : place + rate.starts + 1] if moment < first + period]
        assert len(within) <= rate.starts


@given(rates)
def test_who_looks_when_the_next_is_free_or_as_often_as_starts_are_saved_uses_nine_tenths_of_the_rate(
    rate: Rate,
) -> None:
    pause = rate.step.total_seconds() * max(1, rate.saved) / rate.seconds
    started = starts_of(rate, [pause] * math.ceil(5 / pause))
    assert len(started) >= 0.89 * rate.starts * 5  # and a little less, where a step is some microseconds


@given(rates, st.integers(0, 50), st.floats(0, 10))
def test_no_more_are_granted_than_wanted_and_the_next_moment_never_goes_back(
    rate: Rate, wanted: int, ago: float
) -> None:
    before = T - timedelta(seconds=ago * rate.seconds)
    granted, next_free = rate.take(before, T, wanted)
    assert 0 <= granted <= wanted
    assert next_free >= before
    assert granted == wanted or next_free > T


@pytest.mark.parametrize(
    ("rate", "saved", "step"),
    [
        (Rate(1, 60), 0, 60.0),
        (Rate(10, 60), 0, 6.0),
        (Rate(100, 60), 1, 60 / 99),
        (Rate(100, 1), 10, 1 / 90),
        (Rate(1000, 60), 16, 60 / 984),
    ],
)
def test_what_a_second_lets_through_may_be_saved_up_but_not_more_than_a_tenth(
    rate: Rate, saved: int, step: float
) -> None:
    assert rate.saved == saved
    assert rate.step.total_seconds() == pytest.approx(step, abs=2e-6)


def test_after_a_long_rest_only_what_is_saved_comes_at_once() -> None:
    rate = Rate(100, 1)
    granted, _ = rate.take(T - timedelta(days=7), T, 1000)
    assert granted == rate.saved + 1 == 11
    assert rate.take(None, T, 1000)[0] == 11


@pytest.mark.parametrize(
    ("policy", "rules", "expected"),
    [
        ("standard", [], 0),
        ("short", [], 0),
        ("singleton", [], 2),
        ("exclusive", [], 2),
        ("stately", [], 2),
        ("standard", [Limits(concurrency=1)], 1),
        ("standard", [Limits(rate=Rate(1, 1))], 1),
        ("standard", [Limits(concurrency_per_key=1)], 2),
        ("short", [Limits(rate_per_key=Rate(1, 1)), Limits()], 2),
        ("standard", [Limits(concurrency_per_process=1)], 0),
        ("standard", [NO_RULES, Limits(concurrency=1)], 1),
        ("standard", [QueueRules(fair_share=True)], 1),
        ("standard", [QueueRules(ageing=60)], 1),
    ],
)
def test_only_who_has_something_to_wait_for_stands_before_a_gate(
    policy: str, rules: list[Limits], expected: int
) -> None:
    assert gate(policy, *rules) == expected


def test_rules_of_queues_are_read_from_the_settings() -> None:
    given = {"mail": {"rate": "10/minute", "concurrency": 3, "ageing": "5m", "fair_share": True, "policy": "stately"}}
    expected = QueueRules(rate=Rate(10, 60), concurrency=3, ageing=300, fair_share=True, policy="stately")
    assert read_queues(given) == {"mail": expected}


def test_none_means_no_limit() -> None:
    assert read_queues({"mail": dict.fromkeys(READERS)}) == {"mail": NO_RULES}


@pytest.mark.parametrize(
    ("queues", "complaint"),
    [
        ({"mail": {"concurency": 3}}, "has no rule 'concurency'"),
        ({"mail": {"concurrency": 0}}, "use a whole number from 1 to 1000000"),
        ({"mail": {"concurrency": True}}, "use a whole number"),
        ({"mail": {"rate": "fast"}}, '"10/minute"'),
        ({"mail": {"policy": "alone"}}, "use one of standard, singleton"),
        ({"mail": {"ageing": 0}}, "use a time above 0"),
        ({"mail": 3}, "must be a dict of rules, not 3"),
        ({"": {}}, "names a queue ''"),
        ({3: {}}, "names a queue 3"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(queues: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        read_queues(queues)
    assert complaint in str(caught.value)
    assert "settings.JOBS['QUEUES']" in str(caught.value)
