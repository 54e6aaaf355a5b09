"""Expressions: what may be written, what it means, and what is said about the rest."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from croniter.croniter import CroniterBadDateError
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs_app.cron import parse

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday


def first(expression: str, count: int = 3, start: datetime = NEW_YEAR) -> list[str]:
    """Its slots from the first moment of 2026 on, as "01-31 09:00"."""
    found, slot = [], parse(expression).after(start - timedelta(seconds=1))
    while slot is not None and len(found) < count:
        found.append(f"{slot:%m-%d %H:%M:%S}".removesuffix(":00"))
        slot = parse(expression).after(slot)
    return found


@pytest.mark.spec("S2.4", "S4.5")
def test_five_fields_are_minute_hour_day_month_weekday() -> None:
    assert first("0 9 * * *") == ["01-01 09:00", "01-02 09:00", "01-03 09:00"]
    assert first("0 0 * * *") == ["01-01 00:00", "01-02 00:00", "01-03 00:00"]
    assert first("15 0,6,12,18 * * *", 4) == ["01-01 00:15", "01-01 06:15", "01-01 12:15", "01-01 18:15"]
    assert first("30 7 1 3,9 *") == ["03-01 07:30", "09-01 07:30", "03-01 07:30"]
    assert first("0 8 * * mon-fri") == ["01-01 08:00", "01-02 08:00", "01-05 08:00"]


@pytest.mark.spec("S3.17")
def test_six_fields_have_the_seconds_first() -> None:
    assert first("*/30 * * * * *") == ["01-01 00:00", "01-01 00:00:30", "01-01 00:01"]
    assert first("* * * * *") == ["01-01 00:00", "01-01 00:01", "01-01 00:02"]
    assert first("5 0 9 * * *") == ["01-01 09:00:05", "01-02 09:00:05", "01-03 09:00:05"]
    assert first("0 0 0 * * 7") == first("0 0 * * 7") == ["01-04 00:00", "01-11 00:00", "01-18 00:00"]


MACROS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0"}
MACROS |= {"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", " @Annually ": "0 0 1 1 *"}


@pytest.mark.parametrize(("macro", "spelled"), MACROS.items())
def test_macros_are_spelled_out(macro: str, spelled: str) -> None:
    assert first(macro, 5) == first(spelled, 5)
    assert parse(macro).is_elapsed == parse(spelled).is_elapsed


@pytest.mark.parametrize(
    ("expression", "slots"),
    [
        ("0 0 L 2 *", ["02-28 00:00", "02-28 00:00", "02-29 00:00"]),
        ("0 0 1W 8 *", ["08-03 00:00", "08-02 00:00", "08-01 00:00"]),  # 2026: the 1st is a Saturday; 2027: a Sunday
        ("0 0 * * tue#2", ["01-13 00:00", "02-10 00:00", "03-10 00:00"]),
        ("0 0 * * L5", ["01-30 00:00", "02-27 00:00", "03-27 00:00"]),
        ("0 0 * * 5#1,L5", ["01-02 00:00", "01-30 00:00", "02-06 00:00"]),
        ("0 22-1 * * *", ["01-01 00:00", "01-01 01:00", "01-01 22:00"]),
        ("0 0 10 * fri-mon", ["01-02 00:00", "01-03 00:00", "01-04 00:00"]),
        ("0 0 ? 1 sun", ["01-04 00:00", "01-11 00:00", "01-18 00:00"]),
        ("50/5 0 * * *", ["01-01 00:50", "01-01 00:55", "01-02 00:50"]),
    ],
)
def test_the_rest_is_croniters_language(expression: str, slots: list[str]) -> None:
    assert first(expression) == slots


def test_two_day_fields_that_choose_are_joined_by_or() -> None:
    assert first("0 0 13 * fri", 4) == ["01-02 00:00", "01-09 00:00", "01-13 00:00", "01-16 00:00"]
    # Documented by croniter for all; for numbered weekdays and working days its own search takes "and".
    assert first("0 0 15 * fri#2", 4) == ["01-09 00:00", "01-15 00:00", "02-13 00:00", "02-15 00:00"]
    assert first("0 0 15W * 7", 4) == ["01-04 00:00", "01-11 00:00", "01-15 00:00", "01-18 00:00"]
    # Debian's cron and cronsim join by "and" what begins with a star; croniter only what is a star.
    assert first("0 0 */10 * fri", 4) == ["01-01 00:00", "01-02 00:00", "01-09 00:00", "01-11 00:00"]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("61 * * * *", "use 0 to 59 for the minute, .* not '61'"),
        ("0 25 * * *", "use 0 to 23 for the hour, .* not '25'"),
        ("0 0 0 * *", "use 1 to 31, L .* for the day, .* not '0'"),
        ("0 0 0 0 * *", "use 1 to 31, L .* for the day, .* not '0'"),
        ("0 0 1 13 *", "use 1 to 12 or jan to dec for the month, .* not '13'"),
        ("0 0 * * mun", r"use 0 to 7, sun to sat, .* for the weekday, .* not 'mun'"),
        ("0 0 * * 5L", r"L5 \(the last Friday\)"),
        ("60 * * * * *", "use 0 to 59 for the second, .* not '60'"),
        ("*/0 * * * *", "use 0 to 59 for the minute, .* not '\\*/0'"),
        ("0 0 * * mon,tue#2", "use either weekdays .* or numbered ones .* not 'mon,tue#2'"),
        ("0 0 * * 1,1#2", "use either weekdays .* or numbered ones"),
        ("0 5-5 * * *", "use 5 for that alone or \\* for all, not '5-5'"),
        ("0 0 * * sun,fri-FRI", "use fri for that alone"),
        ("H * * * *", "use 0 to 59 for the minute, not 'h': H and R"),
        ("0 r(1-5) * * *", "use 0 to 23 for the hour, not 'r\\(1-5\\)': H and R"),
        ("0 0 * * h/2 *", "H and R would mean another time at each reading"),
        ("* * * *", 'use five fields, "minute hour day month weekday", .* has 4'),
        ("* * * * * * 2030", "use five fields, .*; six with seconds first; .* has 7"),
        ("@reboot", "use one of @yearly, .*, or five fields, not '@reboot'"),
        ("@daily 5", "use five fields"),
        ("", "use five fields"),
        ("٣ * * * *", "use five fields"),  # digits, but not those of cron
        ("0 0 * * " + "1," * 200 + "1", "use five fields"),
        (None, "use five fields"),
        (5, "use five fields"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_write(expression: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(expression)


@pytest.mark.parametrize(
    "expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 30,31 2 *", "0 0 31 4,6,9,11 *", "* * * 31 2 *", "* * 31 4/5 *"]
)
def test_days_that_no_year_has_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="use days that exist; no year has those of"):
        parse(expression)


@pytest.mark.parametrize(
    ("expression", "start", "slot"),
    [
        ("0 0 29 2 *", "2026-03-01", "2028-02-29"),
        ("0 0 29 2 *", "2096-03-01", "2104-02-29"),
        ("0 0 31 2 mon", "2026-03-01", "2027-02-01"),
        ("0 0 30 2 mon#5", "2026-03-01", "2044-02-29"),
        ("0 0 * 2 mon#5", "2072-02-29", "2112-02-29"),  # no expression waits longer
    ],
)
def test_rare_days_are_found(expression: str, start: str, slot: str) -> None:
    moments = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, slot)]
    assert parse(expression).after(moments[0]) == moments[1]
    assert parse(expression).newest(moments[1]) == moments[1]
    assert parse(expression).newest(moments[1] - timedelta(seconds=1)) <= moments[0]


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """A field of plain numbers."""
    number, step = st.integers(low, high), st.integers(1, 9)
    pair = st.lists(number, min_size=2, max_size=2, unique=True)
    return st.one_of(
        st.just("*"),
        step.map(lambda by: f"*/{by}"),
        number.map(str),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(pair, step).map(lambda found: f"{found[0][0]}-{found[0][1]}/{found[1]}"),
        st.lists(number, min_size=2, max_size=4).map(lambda found: ",".join(map(str, found))),
    )


TIMES = st.tuples(numbers(0, 59), numbers(0, 23))
DATES = st.one_of(numbers(1, 31), st.sampled_from(["L", "1W", "15W", "31W", "L,15"]))
WEEKDAYS = st.one_of(numbers(0, 7), st.sampled_from(["mon-fri", "sat,sun", "L5", "mon#2", "5#5,1#1", "mon-wed#3"]))
DAYS = st.one_of(
    st.tuples(DATES, numbers(1, 12), st.just("*")),
    st.tuples(st.just("*"), numbers(1, 12), WEEKDAYS),
    st.tuples(numbers(1, 31), numbers(1, 12), numbers(0, 7)),
)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1))  # some with a fold, which means nothing in UTC


def _has_slots(expression: str, moment: datetime) -> bool:
    """croniter finds nothing where one of the two day fields has no day by itself, as the 30th of February."""
    try:
        croniter(expression, moment).get_next()
    except CroniterBadDateError:
        return False
    return True


@given(times=TIMES, days=DAYS, moment=MOMENTS)
def test_in_utc_the_slots_are_those_that_croniter_finds(
    times: tuple[str, ...], days: tuple[str, ...], moment: datetime
) -> None:
    expression = " ".join((*times, *days))
    try:
        cron = parse(expression)
    except ValueError:
        with pytest.raises(CroniterBadDateError):
            croniter(expression, moment).get_next()
        return
    later, earlier = croniter(expression, moment), croniter(expression, moment)
    assume(_has_slots(expression, moment))
    after = before = moment.replace(tzinfo=UTC)
    for _ in range(4):
        after, before = cron.after(after), cron.newest(before - timedelta(microseconds=1))
        assert after.replace(tzinfo=None) == later.get_next(datetime)
        assert before.replace(tzinfo=None) == earlier.get_prev(datetime)


PIECES = ["*", "/", "-", ",", "#", "L", "W", "H", "R", "?", "mon", "jan", "0", "1", "5", "12", "31", "59", "60", "\0"]
TEXTS = st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), min_size=5, max_size=6)


@given(parts=TEXTS)
def test_any_text_is_read_or_answered_with_what_to_use(parts: list[str]) -> None:
    with suppress(ValueError):
        assert parse(" ".join(parts)).after(NEW_YEAR) is not None
        return
    with pytest.raises(ValueError, match=r"\Ause "):
        parse(" ".join(parts))
