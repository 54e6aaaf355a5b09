"""Maintenance windows as arithmetic: when they are open, what they hold and until when, and how they are written."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.conf import Settings, parse
from jobs_app.errors import SettingsInvalid
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.wall_clock import clock
from jobs_app.windows import FOR_EVER, Open, Span, Window, first_open, from_settings, hold_until, quiet_span
from tests.zones import ODD_DAYS

DAY = date(2026, 1, 1)  # a Thursday
MINUTE = timedelta(minutes=1)
ANY = ("default", "work")


def at(clock: str, day: date = DAY) -> datetime:
    return datetime.combine(day, time.fromisoformat(clock), tzinfo=UTC)


def window(start: str = "07:00", minutes: int = 20, **options: Any) -> Window:
    return Window(**{"name": start, "start": time.fromisoformat(start), "minutes": minutes} | options)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


# Minutes that cut an hour into pieces: borders meet, which whole random minutes hardly ever do.
clocks = st.builds(time, st.integers(0, 23), st.sampled_from([0, 20, 30, 59]))
near_odd_days = st.tuples(st.sampled_from(ODD_DAYS), st.integers(-48 * 60, 48 * 60))
some_days = st.frozensets(st.integers(0, 6), max_size=3)
lengths = st.one_of(st.sampled_from([1, 20, 60, 1440]), st.integers(1, 1440))


@st.composite
def placed(draw: st.DrawFn) -> tuple[Window, datetime]:
    """A window, and a moment near a day on which its clocks may change."""
    (zone, day), minutes = draw(near_odd_days)
    found = Window(name="w", start=draw(clocks), minutes=draw(lengths), timezone=zone, days=draw(some_days))
    return found, datetime.combine(day, time(12), tzinfo=UTC) + MINUTE * minutes


def starts(given: Window, around: datetime) -> list[datetime]:
    """Of all occurrences in a fortnight."""
    wall = clock(given.timezone)
    days = [around.date() + timedelta(days=number) for number in range(-7, 14)]
    on = [day for day in days if not given.days or day.weekday() in given.days]
    return [wall.first_showing(datetime.combine(day, given.start)) for day in on]


@pytest.mark.spec("S0.R8")
@given(placed())
def test_it_is_open_from_its_start_by_the_clock_for_so_many_minutes_that_pass(found: tuple[Window, datetime]) -> None:
    given_window, moment = found
    length = MINUTE * given_window.minutes
    span = given_window.span_at(moment)
    assert (span is not None) == any(start <= moment < start + length for start in starts(given_window, moment))
    if span is not None:
        assert span.start in starts(given_window, moment)
        assert span.end - span.start == length
        assert span.start <= moment < span.end


@given(placed())
def test_the_next_occurrence_is_the_first_that_starts_then_or_later(found: tuple[Window, datetime]) -> None:
    given_window, moment = found
    span = given_window.next_span(moment)
    assert span.start == min(start for start in starts(given_window, moment) if start >= moment)
    assert span.end - span.start == MINUTE * given_window.minutes
    assert given_window.next_span(span.start) == span


@pytest.mark.spec("S0.R8", "A0.4")
def test_its_end_is_outside_of_it() -> None:
    span = Span(at("07:00"), at("07:20"))
    assert window().span_at(at("06:59:59.999999")) is None
    assert window().span_at(at("07:00")) == window().span_at(at("07:19:59.999999")) == span
    assert window().span_at(at("07:20")) is None


@pytest.mark.spec("S0.R8", "A0.4")
def test_it_may_pass_midnight_and_its_days_are_those_on_which_it_starts() -> None:
    friday, saturday = DAY + timedelta(days=1), DAY + timedelta(days=2)
    late = window("23:50", days=frozenset({4}))
    span = Span(at("23:50", friday), at("00:10", saturday))
    assert late.span_at(at("23:55", friday)) == late.span_at(at("00:09", saturday)) == span
    assert late.span_at(at("00:10", saturday)) is None
    assert late.span_at(at("00:05", friday)) is None  # that would be Thursday's
    assert late.next_span(at("00:00", saturday)).start == at("23:50", friday + timedelta(days=7))


@pytest.mark.parametrize(
    ("options", "covered"),
    [
        ({}, {("mail", "send"), ("mail", "other"), ("sync", "send"), ("sync", "other")}),
        ({"queues": frozenset({"mail"})}, {("mail", "send"), ("mail", "other")}),
        ({"job_types": frozenset({"send"})}, {("mail", "send"), ("sync", "send")}),
        (
            {"queues": frozenset({"mail"}), "job_types": frozenset({"send"})},
            {("mail", "send"), ("mail", "other"), ("sync", "send")},
        ),
    ],
)
def test_it_covers_the_queues_and_the_job_types_it_names_or_else_all_but_the_apps_own_chores(
    options: dict[str, Any], covered: set[tuple[str, str]]
) -> None:
    found = window(**options)
    kinds = [(queue, job_type) for queue in ("mail", "sync", SYSTEM_QUEUE) for job_type in ("send", "other")]
    assert {kind for kind in kinds if found.covers(*kind)} == covered


@pytest.mark.spec("S0.R8")
def test_of_several_that_are_open_the_first_that_covers_it_counts() -> None:
    mail = window(minutes=60, queues=frozenset({"mail"}))
    short, long = window(minutes=10), window(minutes=30)
    everything = (mail, short, long)
    assert first_open(everything, *ANY, at("07:05")) == Open(short, Span(at("07:00"), at("07:10")))
    assert first_open(everything, *ANY, at("07:10")) == Open(long, Span(at("07:00"), at("07:30")))
    assert first_open(everything, *ANY, at("07:30")) is None


@pytest.mark.spec("S0.25", "S0.26", "S0.R18", "A0.4")
@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("06:54:00", None),  # ends exactly at the start
        ("06:54:00.000001", "07:20"),
        ("06:54:01", "07:20"),
        ("07:00:00", "07:20"),
        ("07:19:59", "07:20"),
        ("07:20:00", None),
    ],
)
def test_nothing_is_enqueued_in_a_window_nor_within_its_lead_before_it(now: str, until: str | None) -> None:
    found = hold_until([window()], *ANY, at(now), {window(): seconds(360)})
    assert found == (until and at(until))


def test_each_window_has_its_own_lead() -> None:
    windows = [window("07:00"), window("09:00")]
    leads = {windows[0]: seconds(60), windows[1]: seconds(3600)}
    assert hold_until(windows, *ANY, at("06:58"), leads) is None
    assert hold_until(windows, *ANY, at("08:01"), leads) == at("09:20")


def test_windows_that_follow_each_other_hold_together() -> None:
    meeting = [window("07:20"), window("07:00"), window("08:00")]
    assert hold_until(meeting, *ANY, at("07:05")) == at("07:40")
    near = {each: seconds(21 * 60) for each in meeting}  # in the 20 minutes between them nothing would fit
    assert hold_until(meeting, *ANY, at("07:05"), near) == at("08:20")


def test_only_windows_that_cover_it_hold() -> None:
    mail = window(queues=frozenset({"mail"}))
    assert hold_until([mail], "mail", "work", at("07:05")) == at("07:20")
    assert hold_until([mail], *ANY, at("07:05")) is None
    assert hold_until([window()], SYSTEM_QUEUE, "work", at("07:05")) is None
    assert hold_until([], *ANY, at("07:05")) is None


@given(st.lists(placed(), min_size=1, max_size=3), st.sampled_from([0, 1, 60, 360, 7200]))
def test_what_is_held_may_start_at_the_moment_told_and_not_before(
    found: list[tuple[Window, datetime]], lead: float
) -> None:
    windows, now = [each for each, _ in found], found[0][1]
    leads = dict.fromkeys(windows, seconds(lead))
    until = hold_until(windows, *ANY, now, leads)
    if until is None:
        assert first_open(windows, *ANY, now) is None
        assert all(each.next_span(now).start >= now + seconds(lead) for each in windows)
    elif until - now < FOR_EVER:
        assert hold_until(windows, *ANY, until, leads) is None
        assert hold_until(windows, *ANY, until - seconds(1), leads) == until


def test_windows_that_leave_no_time_hold_for_a_week_at_least_and_do_not_hang() -> None:
    always = window("00:00", minutes=1440)
    found = hold_until([always], *ANY, at("12:00"))
    assert found is not None
    assert found - at("12:00") >= FOR_EVER


@given(st.lists(placed(), min_size=1, max_size=3))
def test_no_window_is_open_in_a_quiet_span_and_one_is_when_it_ends(found: list[tuple[Window, datetime]]) -> None:
    windows, now = [each for each, _ in found], found[0][1]
    quiet = quiet_span(windows, now)
    assert quiet.start == now
    assert first_open(windows, *ANY, quiet.end) is not None
    assert quiet.end == now or first_open(windows, *ANY, quiet.end - timedelta(microseconds=1)) is None
    assert (quiet.end == now) == (first_open(windows, *ANY, now) is not None)


@pytest.mark.spec("S0.R8")
def test_there_are_none_unless_somebody_sets_them() -> None:
    assert parse({}).maintenance_windows == Settings().maintenance_windows == ()
    assert parse({"MAINTENANCE_WINDOWS": ""}).maintenance_windows == ()


@pytest.mark.spec("S0.R8")
@pytest.mark.parametrize("written", ["07:00,22:00", " 07:00 ,, 22:00,", ["07:00", " ", "22:00"], ("07:00", "22:00")])
def test_they_are_written_as_times_in_utc_and_blanks_are_ignored(written: Any) -> None:
    found = parse({"MAINTENANCE_WINDOWS": written}).maintenance_windows
    assert found == (window("07:00", name="07:00 UTC"), window("22:00", name="22:00 UTC"))


def test_they_may_say_more_as_dicts() -> None:
    full = {
        "name": "backup",
        "start": "23:50",
        "minutes": 60,
        "timezone": "Europe/Berlin",
        "days": [5, 6],
        "queues": ["mail"],
        "job_types": ["report"],
    }
    [found] = from_settings([full], minutes=20)
    expected = {"days": frozenset({5, 6}), "queues": frozenset({"mail"}), "job_types": frozenset({"report"})}
    assert found == window("23:50", 60, name="backup", timezone="Europe/Berlin", **expected)


def test_those_that_say_no_minutes_and_no_name_get_the_usual_ones() -> None:
    given_settings = {
        "MAINTENANCE_WINDOW_MINUTES": 45,
        "MAINTENANCE_WINDOWS": ["07:00", {"start": "08:00", "minutes": 5}],
    }
    first, second = parse(given_settings).maintenance_windows
    assert (first.name, first.minutes, second.name, second.minutes) == ("07:00 UTC", 45, "08:00 UTC", 5)


@pytest.mark.spec("S0.R8")
@pytest.mark.parametrize(
    "written", ["7:00", "24:00", "07:60", "0700", "07:00:00", "\u0660\u0667:00", "noon", "-7:00", "07:00Z"]
)
def test_a_time_that_is_not_hours_and_minutes_is_refused(written: str) -> None:
    with pytest.raises(SettingsInvalid, match='use a time of day as hours and minutes, such as "07:00"'):
        from_settings(written, minutes=20)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ([7], r"\[0\] must be a text such as"),
        (["07:00", {}], r"\[1\] does not say when it starts"),
        ([{"start": "07:00", "minute": 20}], "Did you mean 'minutes'"),
        ([{"start": "07:00", "minutes": 0}], "use a whole number from 1 to 1440"),
        ([{"start": "07:00", "minutes": 1441}], "use a whole number from 1 to 1440"),
        ([{"start": time(7, tzinfo=UTC)}], "use a time of day"),
        ([{"start": "07:00", "timezone": "Mars/Base"}], "use a time zone such as .* not 'Mars/Base'"),
        ([{"start": "07:00", "days": [7]}], "use a whole number from 0 to 6"),
        ([{"start": "07:00", "days": "monday"}], "use a list of days from 0"),
        ([{"start": "07:00", "queues": "mail"}], "use a list of names"),
        ([{"start": "07:00", "queues": ["jobs.system"]}], "is never stopped"),
        ([{"start": "07:00", "job_types": [7]}], "use 1 to 120 letters"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(written: Any, complaint: str) -> None:
    with pytest.raises(SettingsInvalid, match=complaint) as caught:
        parse({"MAINTENANCE_WINDOWS": written})
    assert str(caught.value).startswith("settings.JOBS['MAINTENANCE_WINDOWS'][")


@pytest.mark.parametrize("minutes", [0, 1441])
def test_the_usual_minutes_have_limits_too(minutes: int) -> None:
    with pytest.raises(SettingsInvalid, match=r"\['MAINTENANCE_WINDOW_MINUTES'\] must be from 1 to 1440"):
        parse({"MAINTENANCE_WINDOW_MINUTES": minutes})
