"""The slots of an expression in a zone."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.cron import parse
from tests.cron.oracles import ALL

PARIS = ZoneInfo("Europe/Paris")
SHIFTING = ("Europe/Paris", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Pacific/Chatham")


def local_slots(expression: str, zone: str, start: str, end: str) -> list[str]:
    """As the clock shows them: "02:30+02:00", those after `start` and up to `end`."""
    info = ZoneInfo(zone)
    bounds = (datetime.fromisoformat(text).replace(tzinfo=info) for text in (start, end))
    slots = (slot.astimezone(info) for slot in parse(expression, zone).between(*bounds))
    return [slot.isoformat(timespec="minutes").partition("T")[2] for slot in slots]


def test_a_time_that_comes_twice_counts_the_first_time() -> None:
    told = local_slots("30 2 * * *", "Europe/Paris", "2026-10-24", "2026-10-27")
    assert told == ["02:30+02:00", "02:30+02:00", "02:30+01:00"]


def test_a_time_that_does_not_exist_runs_at_the_shift() -> None:
    told = local_slots("30 2 * * *", "Europe/Paris", "2026-03-28", "2026-03-31")
    assert told == ["02:30+01:00", "03:00+02:00", "02:30+02:00"]


def test_what_falls_on_the_shift_together_runs_once() -> None:
    assert local_slots("0,30 2,3 * * *", "Europe/Paris", "2026-03-29", "2026-03-29 12:00") == [
        "03:00+02:00",
        "03:30+02:00",
    ]


def test_a_wildcard_follows_elapsed_time() -> None:
    back = local_slots("*/30 2 * * *", "Europe/Paris", "2026-10-25", "2026-10-25 12:00")
    assert back == ["02:00+02:00", "02:30+02:00", "02:00+01:00", "02:30+01:00"]
    assert local_slots("*/30 2 * * *", "Europe/Paris", "2026-03-29", "2026-03-29 12:00") == []
    hourly = local_slots("0 * * * *", "Europe/Paris", "2026-03-29 00:30", "2026-03-29 04:00")
    assert hourly == ["01:00+01:00", "03:00+02:00", "04:00+02:00"]


def test_lord_howe_repeats_half_an_hour() -> None:
    told = local_slots("*/15 1-2 * * *", "Australia/Lord_Howe", "2026-04-05 01:20", "2026-04-05 02:00")
    assert told == ["01:30+11:00", "01:45+11:00", "01:30+10:30", "01:45+10:30", "02:00+10:30"]
    assert local_slots("45 1 * * *", "Australia/Lord_Howe", "2026-04-05", "2026-04-06") == ["01:45+11:00"]
    assert local_slots("15 2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05") == ["02:30+11:00"]


def test_seconds_change_nothing_in_that() -> None:
    for day in ("2026-03-29", "2026-10-25"):
        span = ("Europe/Paris", day, f"{day} 12:00")
        assert local_slots("0 30 2 * * *", *span) == local_slots("30 2 * * *", *span)
        assert local_slots("0 */30 2 * * *", *span) == local_slots("*/30 2 * * *", *span)
    assert local_slots("*/20 30 2 * * *", "Europe/Paris", "2026-03-29", "2026-03-30") == ["03:00+02:00"]


def test_the_last_slots_of_the_first_hour_are_not_missed_from_the_second() -> None:
    cron = parse("*/10 2 25 10 *", "Europe/Paris")
    first_end, second_start = datetime(2026, 10, 25, 0, 55, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)
    assert cron.after(first_end) == second_start
    assert cron.newest(second_start - timedelta(seconds=1)) == datetime(2026, 10, 25, 0, 50, tzinfo=UTC)
    assert parse("50 2 25 10 *", "Europe/Paris").newest(second_start) == datetime(2026, 10, 25, 0, 50, tzinfo=UTC)


def test_a_whole_day_that_never_was_is_made_up_for_once() -> None:
    assert local_slots("0 9,17 * * *", "Pacific/Apia", "2011-12-29 12:00", "2011-12-31 12:00") == [
        "17:00-10:00",
        "00:00+14:00",
        "09:00+14:00",
    ]


def test_both_halves_of_a_repeated_hour_are_told_apart_in_their_own_zone() -> None:
    cron = parse("*/20 * * * *", "Europe/Paris")
    first, second = (datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=PARIS) for fold in (0, 1))
    assert first == second
    assert cron.after(first) == datetime(2026, 10, 25, 0, 40, tzinfo=UTC)
    assert cron.after(second) == datetime(2026, 10, 25, 1, 40, tzinfo=UTC)
    assert cron.newest(second) - cron.newest(first) == timedelta(hours=1)


def test_after_is_later_and_newest_may_be_now() -> None:
    nine = datetime(2026, 1, 5, 9, tzinfo=UTC)
    cron = parse("0 9 * * *")
    assert (cron.newest(nine), cron.after(nine)) == (nine, nine + timedelta(days=1))
    assert cron.after(nine - timedelta(microseconds=1)) == nine
    assert cron.newest(nine - timedelta(microseconds=1)) == nine - timedelta(days=1)
    assert list(cron.between(nine, nine + timedelta(days=2))) == [nine + timedelta(days=day) for day in (1, 2)]
    assert list(cron.between(nine, nine)) == []


def test_a_moment_without_a_zone_is_refused() -> None:
    for ask in (parse("0 9 * * *").after, parse("0 9 * * *").newest):
        with pytest.raises(ValueError, match="has no time zone"):
            ask(datetime(2026, 1, 1))


def test_where_the_calendar_ends_there_is_no_slot() -> None:
    for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        for expression in ("* * * * *", "0 0 29 2 *"):
            cron = parse(expression, zone)
            assert cron.after(datetime.max.replace(tzinfo=UTC)) is None
            assert cron.newest(datetime.min.replace(tzinfo=UTC)) is None
            last = cron.newest(datetime(9998, 12, 31, 23, tzinfo=UTC))
            assert last is not None
            assert last.year > 9990


def test_a_cron_is_a_value() -> None:
    cron = parse("0  9 * * *", "Europe/Paris")
    assert cron == parse("0 9 * * *", timezone="Europe/Paris") == pickle.loads(pickle.dumps(cron))
    assert (cron.expression, cron.timezone) == ("0 9 * * *", "Europe/Paris")
    assert {cron: 1}[parse(" 0 9 * * *", "Europe/Paris")] == 1
    assert cron != parse("0 9 * * *")
    assert parse("0 9 * * *") is parse("0 9 * * *")
    with pytest.raises(AttributeError):
        cron.timezone = "UTC"


@given(
    expression=st.sampled_from([*ALL, "*/30 * * * * *", "15 30 2 * * *", "0 2 L * *", "0 0 29 2 *", "0 3 * * L0"]),
    zone=st.sampled_from(["UTC", "Asia/Kolkata", *SHIFTING]),
    moment=st.datetimes(datetime(1995, 1, 1), datetime(2095, 1, 1), timezones=st.just(UTC)),
)
def test_after_newest_and_between_tell_the_same(expression: str, zone: str, moment: datetime) -> None:
    cron = parse(expression, zone)
    newest, after = cron.newest(moment), cron.after(moment)
    assert newest is not None
    assert after is not None
    assert newest <= moment < after
    assert cron.after(newest) == after
    assert cron.newest(after - timedelta(microseconds=1)) == newest
    assert cron.newest(after) == after
    later = cron.after(after)
    assert later is not None
    assert list(cron.between(newest, later)) == [after, later]
    assert list(cron.between(newest - timedelta(microseconds=1), after)) == [newest, after]
