"""The moment at which clocks of a zone show a time, on every kind of day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.wall_clock import moment_of, zone_of
from tests.zones import ODD_DAYS

MINUTE = timedelta(minutes=1)


def first_to_show(day: date, shown: time, zone: tzinfo) -> datetime:
    """Found by looking at the clock each minute until it shows so much."""
    wall = datetime.combine(day, shown)
    moment = wall.replace(tzinfo=UTC) - timedelta(hours=36)
    while moment.astimezone(zone).replace(tzinfo=None) < wall:
        moment += MINUTE
    return moment


@given(st.sampled_from(ODD_DAYS), st.times().map(lambda each: each.replace(second=0, microsecond=0)))
def test_it_is_the_first_moment_at_which_clocks_show_so_much(odd: tuple[str, date], shown: time) -> None:
    name, day = odd
    assert moment_of(day, shown, zone_of(name)) == first_to_show(day, shown, zone_of(name))


@pytest.mark.parametrize(
    ("zone", "day", "shown", "moment"),
    [
        ("UTC", date(2026, 1, 1), time(7), "2026-01-01T07:00Z"),
        ("Europe/Berlin", date(2026, 1, 1), time(7), "2026-01-01T06:00Z"),
        ("Europe/Berlin", date(2026, 3, 29), time(2, 30), "2026-03-29T01:00Z"),  # is never shown
        ("Europe/Berlin", date(2026, 3, 29), time(3), "2026-03-29T01:00Z"),
        ("Europe/Berlin", date(2026, 10, 25), time(2, 30), "2026-10-25T00:30Z"),  # is shown twice
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15), "2026-10-03T15:30Z"),  # half an hour is skipped
        ("Africa/Cairo", date(2026, 4, 24), time(0, 0), "2026-04-23T22:00Z"),  # midnight is
        ("Pacific/Apia", date(2011, 12, 30), time(7), "2011-12-30T10:00Z"),  # a whole day is
    ],
)
def test_a_time_that_is_skipped_is_the_shift_and_a_repeated_one_the_first(
    zone: str, day: date, shown: time, moment: str
) -> None:
    assert moment_of(day, shown, zone_of(zone)) == datetime.fromisoformat(moment)


def test_a_start_with_fractions_of_a_second_is_not_before_the_shift() -> None:
    found = moment_of(date(2026, 3, 29), time(2, 30, 15, 7), zone_of("Europe/Berlin"))
    assert found == datetime(2026, 3, 29, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Mars/Base", "", "Europe", "../etc/passwd", "/etc/localtime", "\0"])
def test_what_is_no_zone_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="use the name of a time zone"):
        zone_of(name)
