"""Which of the slots that a schedule is late for get a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.catch_up import CatchUpRule, Turn, delays, turn
from jobs_app.timetable import Timetable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def turn_at(seconds: float, *, every: float = 15, **rule: object) -> Turn:
    return turn(Timetable(every=every), CatchUpRule(**rule), start=NOON, now=after(seconds))  # type: ignore[arg-type]


def seconds_of(found: Turn) -> list[float]:
    return [(slot - NOON).total_seconds() for slot in found.slots]


@pytest.mark.spec("S0.20", "S0.27")
def test_all_takes_every_slot_that_has_passed_oldest_first() -> None:
    found = turn_at(44.9, policy="all")
    assert (seconds_of(found), found.next_run_at, found.skipped) == ([0, 15, 30], after(45), 0)


@pytest.mark.spec("S0.21", "S0.22")
def test_all_takes_so_many_in_one_turn_and_stays_at_the_next() -> None:
    found = turn_at(3600, policy="all", most=10)
    assert (len(found.slots), found.next_run_at, found.skipped) == (10, after(150), 0)


@pytest.mark.spec("S0.R7")
def test_once_takes_the_newest_and_goes_on_after_now() -> None:
    found = turn_at(3607, policy="once")
    assert (seconds_of(found), found.next_run_at) == ([3600], after(3615))
    assert (found.skipped, found.skipped_from) == (240, NOON)


@pytest.mark.parametrize(("late", "taken"), [(0, [0]), (60, [0]), (60.001, [])])
def test_skip_takes_a_slot_that_is_on_time_and_none_that_was_missed(late: float, taken: list[float]) -> None:
    found = turn_at(late, every=3600, policy="skip")
    assert (seconds_of(found), found.next_run_at) == (taken, after(3600))
    assert found.skipped == 1 - len(taken)


def test_skip_on_a_fast_grid_takes_the_newest() -> None:
    assert seconds_of(turn_at(45, policy="skip")) == [45]


@pytest.mark.parametrize(("policy", "taken", "skipped"), [("all", [90, 105, 120], 6), ("once", [120], 8)])
def test_slots_older_than_the_window_get_no_job(policy: str, taken: list[float], skipped: int) -> None:
    found = turn_at(121, policy=policy, window=40)
    assert (seconds_of(found), found.skipped, found.skipped_from) == (taken, skipped, NOON)


def test_where_the_window_holds_no_slot_all_are_passed_over() -> None:
    found = turn_at(121, every=100, policy="all", window=10)
    assert (found.slots, found.next_run_at, found.skipped) == ([], after(200), 2)


@pytest.mark.spec("S0.R5")
@pytest.mark.parametrize(
    ("count", "spread", "expected"),
    [
        (1, 10800, [0]),
        (3, 3600, [0, 1200, 2400]),
        (10, 10800, [1080 * place for place in range(10)]),
        (7, 10800, [0, 1543, 3086, 4629, 6172, 7715, 9258]),
        (3, 0, [0, 0, 0]),
    ],
)
def test_the_first_starts_at_once_and_the_others_evenly_over_the_spread(
    count: int, spread: float, expected: list[float]
) -> None:
    assert delays(count, spread) == expected


def test_slots_of_a_cron_are_counted_up_to_a_bound() -> None:
    """A search over a year of seconds would take minutes."""
    year = timedelta(days=365)
    found = turn(Timetable(cron="* * * * * *"), CatchUpRule(policy="once"), start=NOON, now=NOON + year)
    assert (list(found.slots), found.skipped) == ([NOON + year], 1000)


def test_one_moment_is_the_last() -> None:
    found = turn(Timetable(at=NOON), CatchUpRule(), start=NOON, now=after(86_400))
    assert (list(found.slots), found.next_run_at) == ([NOON], None)
    found = turn(Timetable(at=NOON), CatchUpRule(policy="skip"), start=NOON, now=after(86_400))
    assert (list(found.slots), found.next_run_at, found.skipped) == ([], None, 1)


@given(
    every=st.integers(1, 5000),
    late=st.integers(0, 200_000),
    policy=st.sampled_from(["all", "once", "skip"]),
    most=st.integers(1, 50),
    window=st.none() | st.integers(1, 100_000),
)
def test_every_slot_that_has_passed_is_taken_passed_over_or_still_ahead(
    every: int, late: int, policy: str, most: int, window: int | None
) -> None:
    found = turn_at(late, every=every, policy=policy, most=most, window=window)
    assert found.next_run_at is not None
    passed = [slot for slot in range(0, late + 1, every) if after(slot) < found.next_run_at]
    assert len(passed) == len(found.slots) + found.skipped
    assert set(seconds_of(found)) <= set(passed)
    assert seconds_of(found) == sorted(set(seconds_of(found)))
    if policy != "all":
        assert found.next_run_at > after(late)
