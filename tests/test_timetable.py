"""When a schedule comes back: its slots, forwards, backwards and around a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.timetable import Timetable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NINE = datetime(2026, 1, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)

QUARTER = Timetable(every=900)
DAILY = Timetable(cron="0 9 * * *")
ONCE = Timetable(at=NOON)


def minutes(*numbers: float) -> list[datetime]:
    return [NOON + timedelta(minutes=number) for number in numbers]


def test_an_interval_follows_its_slot_a_cron_the_clock_and_nothing_a_single_moment() -> None:
    assert QUARTER.after(NOON) == minutes(15)[0]
    assert (DAILY.after(NOON), DAILY.after(NINE)) == (NINE, NINE + DAY)
    assert ONCE.after(NOON) is None


def test_a_new_interval_begins_at_once_a_cron_with_its_next_slot_a_moment_where_it_is() -> None:
    now = NOON + timedelta(seconds=1)
    assert (QUARTER.first(now), DAILY.first(now), ONCE.first(now)) == (now, NINE, NOON)
    assert DAILY.first(NINE) == NINE + DAY


def test_the_slots_from_a_start_up_to_now() -> None:
    assert list(QUARTER.slots(NOON, minutes(31)[0])) == minutes(0, 15, 30)
    assert list(DAILY.slots(NINE, NINE + 2 * DAY)) == [NINE, NINE + DAY, NINE + 2 * DAY]
    assert list(ONCE.slots(NOON, NOON + DAY)) == [NOON]
    for table in (QUARTER, DAILY, ONCE):
        assert list(table.slots(NOON, NOON - DAY)) == []


def test_the_newest_slot_that_has_passed() -> None:
    assert QUARTER.newest(NOON, minutes(44)[0]) == minutes(30)[0]
    assert QUARTER.newest(NOON, minutes(45)[0]) == minutes(45)[0]
    assert DAILY.newest(NINE, NINE + 5 * DAY + timedelta(hours=1)) == NINE + 5 * DAY
    assert DAILY.newest(NOON, NOON) == NOON, "where somebody has put it is a slot too"
    assert ONCE.newest(NOON, NOON + DAY) == NOON


def test_how_many_slots_there_are_and_those_of_a_cron_up_to_a_number() -> None:
    assert [QUARTER.count(NOON, moment, most=2) for moment in minutes(-1, 0, 14, 15, 150)] == [0, 1, 1, 2, 11]
    assert [DAILY.count(NINE, NINE + n * DAY, most=3) for n in (-1, 0, 1, 9)] == [0, 1, 2, 3]
    assert ONCE.count(NOON, NOON + DAY, most=3) == 1


def test_the_first_slot_at_a_moment_or_later_of_those_from_a_start_on() -> None:
    assert [QUARTER.first_from(NOON, moment) for moment in minutes(-60, 0, 1, 15)] == minutes(0, 0, 15, 15)
    assert DAILY.first_from(NINE, NINE + timedelta(seconds=1)) == NINE + DAY
    assert (ONCE.first_from(NOON, NOON), ONCE.first_from(NOON, NOON + DAY)) == (NOON, None)


def test_the_first_slot_at_a_moment_or_later_also_before_the_one_it_stands_at() -> None:
    assert [QUARTER.around(NOON, moment) for moment in minutes(-61, -60, -59, 0, 1)] == minutes(-60, -60, -45, 0, 15)
    assert DAILY.around(NINE, NINE - 9 * DAY) == NINE - 9 * DAY
    assert DAILY.around(NINE, NINE - 9 * DAY + timedelta(seconds=1)) == NINE - 8 * DAY
    assert (ONCE.around(NOON, NOON - DAY), ONCE.around(NOON, NOON + DAY)) == (NOON, None)


@given(
    every=st.floats(0.001, 1e7),
    away=st.timedeltas(timedelta(days=-400), timedelta(days=400)),
)
def test_around_a_moment_is_on_the_grid_and_within_an_interval(every: float, away: timedelta) -> None:
    table, moment = Timetable(every=every), NOON + away
    found = table.around(NOON, moment)
    assert found is not None
    interval = timedelta(seconds=every)
    assert timedelta(0) <= found - moment < interval
    assert not (found - NOON) % interval


def test_an_interval_goes_on_at_once_a_cron_with_its_next_slot_and_a_moment_when_it_comes() -> None:
    later = NINE + timedelta(hours=1)
    assert (QUARTER.resumed(NOON, later), QUARTER.resumed(NINE + DAY, later)) == (later, later)
    assert (DAILY.resumed(NINE, later), DAILY.resumed(NINE, NOON), DAILY.resumed(NINE, NINE)) == (
        NINE + DAY,
        NINE,
        NINE,
    )
    assert (ONCE.resumed(NOON, NOON - DAY), ONCE.resumed(NOON, later)) == (NOON, later)


def test_a_grid_does_not_drift() -> None:
    third = Timetable(every=1200)
    assert list(islice(third.slots(NOON, NOON + DAY), 70, 72)) == [
        NOON + timedelta(minutes=1400),
        NOON + timedelta(minutes=1420),
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (Timetable(every=90), "every 1m 30s"),
        (DAILY, "0 9 * * *"),
        (Timetable(cron="0 9 * * *", timezone="Europe/Berlin"), "0 9 * * * Europe/Berlin"),
        (ONCE, "once at 2026-01-01 12:00:00+00:00"),
    ],
)
def test_it_is_said_in_words(table: Timetable, words: str) -> None:
    assert str(table) == words


def test_an_interval_that_no_clock_can_tell_is_an_error_and_no_endless_loop() -> None:
    with pytest.raises(ValueError, match="shorter than a clock can tell"):
        Timetable(every=1e-9).after(NOON)
