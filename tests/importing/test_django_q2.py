"""Rows of django-q2, read from its table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.importing import django_q2
from jobs_app.importing.found import Found, When
from jobs_app.timetable import Timetable
from tests.importing.foreign import NOW, Q_SCHEDULE, make_tables, put_schedule

pytestmark = pytest.mark.django_db

BERLIN = "Europe/Berlin"  # at NOW it is 14:00 there
END_OF_CALENDAR = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # how people write never


@pytest.fixture(autouse=True)
def tables(settings: Any) -> None:
    settings.TIME_ZONE = BERLIN
    make_tables("django_q")


def only(**columns: Any) -> Found:
    put_schedule("shop.sync", **columns)
    [found] = django_q2.read(connection, NOW)
    return found


def test_a_row_with_all_that_is_kept() -> None:
    found = only(name="Nightly", args="1, 'a'", kwargs="x=2", schedule_type="I", minutes=7)
    assert (found.old_name, found.name, found.task) == ("Nightly", "Nightly", "shop.sync")
    assert (found.args, found.kwargs, found.is_enabled) == ((1, "a"), {"x": 2}, True)
    assert found.when == When(timetable=Timetable(every=420), stands_at=NOW)


def test_one_without_a_name_has_one_that_stays() -> None:
    pk = put_schedule("shop.sync")
    assert [found.name for found in django_q2.read(connection, NOW)] == [f"django-q2-{pk}"]


@pytest.mark.parametrize(
    ("kind", "timetable"),
    [
        ("I", Timetable(every=60)),
        ("H", Timetable(every=3600)),
        ("D", Timetable(cron="0 14 * * *", timezone=BERLIN)),
        ("W", Timetable(cron="0 14 * * 3", timezone=BERLIN)),
        ("BW", Timetable(every=14 * 86400)),
        ("M", Timetable(cron="0 14 10 * *", timezone=BERLIN)),
        ("BM", Timetable(cron="0 14 10 2,4,6,8,10,12 *", timezone=BERLIN)),
        ("Q", Timetable(cron="0 14 10 3,6,9,12 *", timezone=BERLIN)),
        ("Y", Timetable(cron="0 14 10 6 *", timezone=BERLIN)),
    ],
)
def test_each_type_goes_on_with_its_next_run(kind: str, timetable: Timetable) -> None:
    assert only(schedule_type=kind).when == When(timetable=timetable, stands_at=NOW)


def test_days_are_days_of_the_clock_on_the_wall_when_clocks_change() -> None:
    before = datetime(2026, 10, 24, 7, tzinfo=UTC)  # 9:00 in summer
    found = only(schedule_type="D", next_run=before)
    assert found.when is not None
    assert found.when.timetable.after(before) == before + timedelta(hours=25)


def test_the_second_is_kept_and_parts_of_it_are_not() -> None:
    found = only(schedule_type="D", next_run=NOW + timedelta(seconds=5, microseconds=3))
    cron = Timetable(cron="5 0 14 * * *", timezone=BERLIN)
    assert found.when == When(timetable=cron, stands_at=NOW + timedelta(seconds=5))


def test_the_day_is_that_of_the_projects_zone() -> None:
    found = only(schedule_type="M", next_run=datetime(2026, 6, 30, 22, 30, tzinfo=UTC))
    assert found.when is not None
    assert found.when.timetable.cron == "30 0 1 * *"


def test_once_is_once() -> None:
    assert only(schedule_type="O", next_run=NOW, repeats=1).when == When(timetable=Timetable(at=NOW), stands_at=NOW)


def test_once_that_is_overdue_stands_there_still() -> None:
    missed = NOW - timedelta(days=1)
    found = only(schedule_type="O", next_run=missed)
    assert (found.when, found.is_needless) == (When(timetable=Timetable(at=missed), stands_at=missed), False)


@pytest.mark.parametrize(
    ("cron", "ours"),
    [("*/5 8-18 * * 1-5", "*/5 8-18 * * 1-5"), ("0 9 * * * 30", "30 0 9 * * *"), ("@daily", "@daily")],
)
def test_a_cron_is_of_the_projects_zone_and_has_its_seconds_first(cron: str, ours: str) -> None:
    found = only(schedule_type="C", cron=cron)
    assert found.when is not None
    assert found.when.timetable == Timetable(cron=ours, timezone=BERLIN)


def test_one_whose_repeats_are_used_up_is_off() -> None:
    found = only(schedule_type="H", repeats=0)
    assert (found.is_enabled, found.when) == (False, When(timetable=Timetable(every=3600)))


def test_a_single_run_that_is_over_is_left_out() -> None:
    found = only(schedule_type="O", repeats=0)
    assert (found.is_needless, found.problem) == (True, "is for one run, and is over")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"repeats": 3}, "it ends after 3 more runs"),
        ({"intended_date_kwarg": "day"}, "each run gets its moment as day"),
        ({"schedule_type": "M", "next_run": datetime(2026, 5, 31, 9, tzinfo=UTC)}, "it comes on day 31"),
        ({"schedule_type": "Y", "next_run": datetime(2028, 2, 29, 9, tzinfo=UTC)}, "it comes on day 29"),
        ({"schedule_type": "X"}, "its schedule type 'X' is not known"),
        ({"schedule_type": "C", "cron": "0 9 * * * 0 2030"}, "its cron '0 9 * * * 0 2030' has a field for years"),
        ({"schedule_type": "C", "cron": ""}, "use five fields"),
        ({"next_run": None}, "it has no next run"),
        ({"kwargs": "x=open('y')"}, "its kwargs are no literals"),
        *[
            ({"schedule_type": kind, "next_run": END_OF_CALENDAR}, "its next_run 9999-12-31 23:59:59+00:00 cannot be")
            for kind in ("I", "D", "BW", "M", "C", "O")
        ],
        ({"next_run": datetime(1, 1, 1, tzinfo=UTC)}, "its next_run 0001-01-01 00:00:00+00:00 cannot be used"),
    ],
)
def test_what_cannot_be_says_why(columns: dict[str, Any], why: str) -> None:
    found = only(**columns)
    assert (found.problem[: len(why)], found.when) == (why, None)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"repeats": None}, "its repeats is empty"),
        ({"repeats": None, "schedule_type": "O"}, "its repeats is empty"),
        (
            {"minutes": -5, "schedule_type": "I"},
            "it comes every -5 minutes: a delay is a number of seconds from 0 upwards, not -300",
        ),
    ],
)
def test_what_only_a_table_without_its_rules_has_says_why(columns: dict[str, Any], why: str) -> None:
    row = {"id": 7, "func": "shop.sync", **Q_SCHEDULE, **columns}
    assert django_q2.found(row, BERLIN).problem == why


def test_a_day_that_each_of_its_months_has_is_no_problem() -> None:
    found = only(schedule_type="Q", next_run=datetime(2026, 7, 30, 7, tzinfo=UTC))
    assert found.when is not None
    assert found.when.timetable.cron == "0 9 30 1,4,7,10 *"


def test_what_only_django_q2_has_a_place_for_is_told() -> None:
    found = only(schedule_type="BW", hook="shop.done", cluster="big", kwargs="x=1, q_options={'timeout': 3}")
    assert (found.kwargs, found.queue) == ({"x": 1}, "big")
    assert [note.partition(":")[0] for note in found.notes] == [
        "its hook shop.done is not called any more",
        "its options for django-q2 are not kept (q_options)",
        "it comes every 14 days of 24 hours",
    ]


OWN = ("task_name", "hook", "save", "sync", "cached", "ack_failure", "iter_count", "iter_cached", "chain", "timeout")


def test_options_that_stand_among_the_arguments_never_reached_the_function() -> None:
    found = only(schedule_type="H", kwargs=repr(dict.fromkeys(OWN, 1) | {"x": 2}))
    assert found.kwargs == {"x": 2}
    assert found.notes == (
        f"its options for django-q2 are not kept ({', '.join(OWN)}): what they say is said with @job",
    )


@pytest.mark.parametrize(
    ("columns", "kwargs"),
    [
        ({"kwargs": "group=1, cluster=2, broker=3"}, {"group": 1, "cluster": 2, "broker": 3}),
        ({"kwargs": "hook=1, timeout=2", "hook": "shop.done"}, {"hook": 1}),
        ({"kwargs": "timeout=1, task_name='a', q_options={'timeout': 3, 'task_name': 'b'}"}, {"timeout": 1}),
    ],
)
def test_arguments_did_reach_it_where_the_schedule_says_the_option_itself(
    columns: dict[str, Any], kwargs: dict[str, Any]
) -> None:
    assert only(schedule_type="H", **columns).kwargs == kwargs


def test_a_zone_whose_clocks_never_change_needs_no_word(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    assert only(schedule_type="BW").notes == ()
