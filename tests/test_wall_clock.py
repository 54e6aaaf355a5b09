"""The clock of a zone: what it shows when, and the names of zones."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app import wall_clock
from jobs_app.wall_clock import clock
from tests.zones import ODD_DAYS

PARIS = clock("Europe/Paris")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_time_is_shown_once_twice_or_never() -> None:
    assert PARIS.showings(wall("2026-07-01 12:00")) == (utc("2026-07-01 10:00"),)
    assert PARIS.showings(wall("2026-10-25 02:30")) == (utc("2026-10-25 00:30"), utc("2026-10-25 01:30"))
    assert PARIS.showings(wall("2026-03-29 02:30")) == ()


@pytest.mark.parametrize(
    ("zone", "time", "change"),
    [
        ("Europe/Paris", "2026-03-29 02:00", "2026-03-29 01:00"),
        ("Europe/Paris", "2026-03-29 02:59:59.999999", "2026-03-29 01:00"),
        ("Europe/Paris", "2026-10-25 02:00", "2026-10-25 01:00"),
        ("Europe/Paris", "2026-10-25 02:59:59.999999", "2026-10-25 01:00"),
        ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 15:00"),
        ("Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00"),  # a whole day that never was
        ("Africa/Monrovia", "1972-01-07 00:30", "1972-01-07 00:44:30"),  # no whole minute
    ],
)
def test_the_change_that_skips_or_repeats_a_time_is_found(zone: str, time: str, change: str) -> None:
    assert clock(zone).change_at(wall(time)) == utc(change)


def first_to_show(shown: datetime, zone: str) -> datetime:
    """Found by looking at the clock each minute until it shows so much."""
    moment = shown.replace(tzinfo=UTC) - timedelta(hours=36)
    while clock(zone).shown(moment) < shown:
        moment += timedelta(minutes=1)
    return moment


@given(st.sampled_from(ODD_DAYS), st.times().map(lambda each: each.replace(second=0, microsecond=0)))
def test_a_time_begins_when_clocks_first_show_so_much(odd: tuple[str, date], shown: time) -> None:
    zone, day = odd
    showing = datetime.combine(day, shown)
    assert clock(zone).first_showing(showing) == first_to_show(showing, zone)


@pytest.mark.parametrize(
    ("zone", "time", "moment"),
    [
        ("UTC", "2026-01-01 07:00", "2026-01-01 07:00"),
        ("Europe/Berlin", "2026-01-01 07:00", "2026-01-01 06:00"),
        ("Europe/Berlin", "2026-03-29 02:30:15.000007", "2026-03-29 01:00"),  # is never shown
        ("Europe/Berlin", "2026-03-29 03:00", "2026-03-29 01:00"),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25 00:30"),  # is shown twice
        ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:30"),  # half an hour is skipped
        ("Africa/Cairo", "2026-04-24 00:00", "2026-04-23 22:00"),  # midnight is
        ("Pacific/Apia", "2011-12-30 07:00", "2011-12-30 10:00"),  # a whole day is
    ],
)
def test_a_time_that_is_skipped_begins_with_the_change_and_a_repeated_one_with_its_first_showing(
    zone: str, time: str, moment: str
) -> None:
    assert clock(zone).first_showing(wall(time)) == utc(moment)


def test_in_the_second_half_of_a_repeated_hour_later_times_have_been_shown() -> None:
    assert PARIS.latest_shown(utc("2026-10-25 00:45")) == wall("2026-10-25 02:45")
    assert PARIS.latest_shown(utc("2026-10-25 01:00")) == wall("2026-10-25 02:59:59.999999")
    assert PARIS.latest_shown(utc("2026-10-25 02:00")) == wall("2026-10-25 03:00")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("europe/paris", "Europe/Paris"), ("Paris", "Europe/Paris"), ("Europe/Pari", "Europe/Paris"), ("utc", "UTC")],
)
def test_the_zone_that_was_meant_is_named(written: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"use a time zone such as .* not {written!r} .did you mean {meant!r}"):
        clock(written)


@pytest.mark.parametrize(
    "written",
    ["Mars/Olympus_Mons_9", "", "Europe", "../../etc/passwd", "x" * 5000, "\0", "localtime", "right/UTC", None],
)
def test_what_is_no_zone_everywhere_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="use a time zone such as"):
        clock(written)


def test_where_no_zones_are_installed_utc_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall_clock, "zone_names", frozenset)
    assert clock.__wrapped__("UTC").shown(utc("2026-01-01 12:00")) == wall("2026-01-01 12:00")
    with pytest.raises(ValueError, match="pip install tzdata, or use UTC"):
        clock.__wrapped__("Europe/Paris")
