"""What may be said of a schedule, and what stands in its row where nothing was said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs_app.errors import OptionInvalid
from jobs_app.models import ScheduleState
from jobs_app.options import read
from jobs_app.schedule_columns import COLUMNS, TIMETABLE_COLUMNS, columns_of, first_slot
from jobs_app.schedule_options import READERS, UNSCHEDULED, ScheduleOptions, interval_of, take
from jobs_app.timetable import Timetable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(**given: Any) -> ScheduleOptions:
    return take(read(given, READERS, OptionInvalid, "here"))


@pytest.mark.parametrize(
    ("given", "timetable"),
    [
        ({"every": "15m"}, Timetable(every=900)),
        ({"every": timedelta(hours=1)}, Timetable(every=3600)),
        ({"per_hour": 4}, Timetable(every=900)),
        ({"per_hour": 0.25}, Timetable(every=14400)),
        ({"cron": "0 9 * * *"}, Timetable(cron="0 9 * * *")),
        ({"cron": "0 9 * * *", "timezone": "Europe/Berlin"}, Timetable(cron="0 9 * * *", timezone="Europe/Berlin")),
        ({"at": NOON}, Timetable(at=NOON)),
        ({"every": None, "cron": "0 9 * * *"}, Timetable(cron="0 9 * * *")),
        ({"every": None, "per_hour": None, "cron": None, "at": None}, None),
        ({}, None),
    ],
)
def test_one_way_to_say_when(given: dict[str, Any], timetable: Timetable | None) -> None:
    assert said(**given).timetable == timetable


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": 60, "per_hour": 4}, "every= and per_hour= each say when; give one of them"),
        ({"cron": "0 9 * * *", "at": NOON}, "cron= and at= each say when"),
        ({"timezone": "Europe/Berlin"}, "timezone= is about cron=, which is not given"),
        ({"timezone": "Europe/Berlin", "every": 60}, "timezone= is about cron="),
        ({"cron": "nine"}, "cron='nine' in UTC cannot be used"),
        ({"cron": "0 9 * * *", "timezone": "Mars/Base"}, "in Mars/Base cannot be used"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        said(**given)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("every", [0, -1, 0.0005, "soon", True]),
        ("per_hour", [0, 0.0001, 3601, "4", True, float("nan")]),
        ("cron", ["", 9, "0 9 * * *\n", "*" * 201]),
        ("timezone", ["", None, "x" * 65]),
        ("at", ["2026-01-01", NOON.replace(tzinfo=None)]),
        ("payload", [[], "x"]),
        ("catch_up", ["some", ""]),
        ("catch_up_max", [0, 10_001, 1.5]),
        ("catch_up_window", [0, -1]),
        ("spread", [-1]),
        ("jitter", [-1, "x"]),
        ("phase", [-1]),
        ("overlap", ["never"]),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_name(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(OptionInvalid, match=f"here: {name}=.* cannot be used: "):
            read({name: value}, READERS, OptionInvalid, "here")


@pytest.mark.spec("S0.R3")
@pytest.mark.parametrize(
    ("rate", "seconds"), [(4, 900), (3, 1200), (7, 514), (0.25, 14400), (0.001, 3_600_000), (3600, 1), (2000, 2)]
)
def test_a_rate_becomes_an_interval_of_whole_seconds(rate: float, seconds: float) -> None:
    assert interval_of(rate) == seconds


def test_what_is_taken_out_leaves_the_rest() -> None:
    chosen = {"every": 60.0, "queue": "mail", "spread": 5.0}
    assert take(chosen) == ScheduleOptions(timetable=Timetable(every=60), spread=5)
    assert chosen == {"queue": "mail"}


def test_where_one_says_nothing_the_other_speaks() -> None:
    code = said(every=60, spread=5, payload={"n": 1})
    assert said(spread=0, catch_up="skip").over(code) == said(every=60, spread=0, catch_up="skip", payload={"n": 1})
    assert UNSCHEDULED.over(code) == code
    assert code.over(UNSCHEDULED) == code


@pytest.mark.parametrize(
    ("given", "subject", "usual"),
    [
        ({"every": 60}, "shop-7", "all"),
        ({"every": 60}, "", "once"),
        ({"cron": "0 9 * * *"}, "shop-7", "once"),
        ({"at": NOON}, "shop-7", "once"),
        ({"every": 60, "catch_up": "skip"}, "shop-7", "skip"),
    ],
)
def test_what_was_missed_is_made_up_for_where_a_subject_has_an_interval(
    given: dict[str, Any], subject: str, usual: str
) -> None:
    assert columns_of(said(**given), subject=subject)["catch_up"] == usual


def test_every_default_is_filled_in_from_the_settings(settings: Any) -> None:
    settings.JOBS = {"CATCH_UP_MAX": 3, "CATCH_UP_SPREAD_SECONDS": 60, "SCHEDULE_JITTER_SECONDS": 7}
    columns = columns_of(said(every=60), subject="")
    assert columns == {
        "interval_seconds": 60,
        "cron": "",
        "timezone": "UTC",
        "once_at": None,
        "payload": {},
        "catch_up": "once",
        "catch_up_max": 3,
        "catch_up_window_seconds": None,
        "spread_seconds": 60,
        "jitter_seconds": 7,
        "overlap": "allow",
    }
    silenced = columns_of(said(every=60, spread=0, jitter=0), subject="")
    assert (silenced["spread_seconds"], silenced["jitter_seconds"]) == (0, 0), "none is something to say"


def test_every_option_has_a_column() -> None:
    columns = set(columns_of(said(every=60), subject=""))
    assert columns <= {field.name for field in ScheduleState._meta.get_fields()}
    others = {COLUMNS.get(name, name) for name in READERS} - {"every", "per_hour", "at", "phase"}
    assert columns == others | set(TIMETABLE_COLUMNS)


def test_a_phase_puts_off_the_first_slot_of_an_interval_only(settings: Any) -> None:
    settings.JOBS = {"SCHEDULE_PHASE_SECONDS": 60}
    assert first_slot(said(every=900), NOON) == NOON + timedelta(seconds=60)
    assert first_slot(said(every=900, phase=0), NOON) == NOON
    assert first_slot(said(cron="0 9 * * *", phase=60), NOON) == NOON + timedelta(hours=21)
    assert first_slot(said(at=NOON, phase=60), NOON) == NOON
