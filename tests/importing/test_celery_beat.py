"""Rows of django-celery-beat, read from its tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.importing import celery_beat
from jobs_app.importing.found import Found
from jobs_app.timetable import Timetable
from tests.importing.foreign import BEAT, NOW, TASK, clocked, crontab, every, make_tables, put, put_task

pytestmark = pytest.mark.django_db

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START_OF_CALENDAR = datetime(1, 1, 1, tzinfo=UTC)
END_OF_CALENDAR = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.fixture(autouse=True)
def tables() -> None:
    make_tables("django_celery")


def only(**columns: Any) -> Found:
    put_task("Nightly (all shops)", "shop.tasks.sync", **columns)
    [found] = celery_beat.read(connection, NOW)
    return found


def stands_at(found: Found) -> datetime | None:
    assert found.when is not None
    return found.when.stands_at


def timetable(found: Found) -> Timetable:
    assert found.when is not None, found.problem
    return found.when.timetable


def test_a_row_with_all_that_is_kept() -> None:
    found = only(interval_id=every(2, "hours"), args='["a"]', kwargs='{"n": 1}', description="for the boss")
    assert (found.old_name, found.name, found.task) == (
        "Nightly (all shops)",
        "Nightly-all-shops",
        "shop.tasks.sync",
    )
    assert (found.args, found.kwargs, found.description) == (("a",), {"n": 1}, "for the boss")
    assert (found.is_enabled, found.notes, found.problem) == (True, (), "")


@pytest.mark.parametrize(
    ("number", "period", "seconds"), [(90, "seconds", 90), (5, "minutes", 300), (2, "hours", 7200), (3, "days", 259200)]
)
def test_an_interval_of_any_unit(number: int, period: str, seconds: float) -> None:
    assert timetable(only(interval_id=every(number, period))) == Timetable(every=seconds)


def test_a_crontab_keeps_its_zone() -> None:
    found = only(crontab_id=crontab(day_of_week="1-5", timezone="Europe/Berlin"))
    assert timetable(found) == Timetable(cron="0 9 * * 1-5", timezone="Europe/Berlin")


def test_a_crontab_of_an_old_version_is_in_the_zone_of_celery(settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {BEAT}crontabschedule DROP COLUMN timezone")
    settings.CELERY_TIMEZONE = "Asia/Tokyo"
    fields = {"minute": "0", "hour": "9", "day_of_week": "*", "day_of_month": "*", "month_of_year": "*"}
    assert timetable(only(crontab_id=put(f"{BEAT}crontabschedule", **fields))).timezone == "Asia/Tokyo"


def test_a_clocked_one_comes_once() -> None:
    found = only(clocked_id=clocked(NOW + DAY), one_off=True)
    assert (timetable(found), stands_at(found)) == (Timetable(at=NOW + DAY), NOW + DAY)


def test_a_clocked_one_that_is_overdue_stands_there_still() -> None:
    found = only(clocked_id=clocked(NOW - DAY), one_off=True)
    assert (timetable(found), stands_at(found), found.is_needless) == (Timetable(at=NOW - DAY), NOW - DAY, False)


def test_a_clocked_one_does_not_come_before_its_start() -> None:
    found = only(clocked_id=clocked(NOW - DAY), one_off=True, start_time=NOW + DAY)
    assert (timetable(found), stands_at(found)) == (Timetable(at=NOW + DAY), NOW + DAY)


def test_a_clocked_one_that_has_run_is_over_whatever_else_it_says() -> None:
    assert only(clocked_id=clocked(NOW - DAY), one_off=False, total_run_count=1).is_needless


def test_an_interval_goes_on_from_its_last_run() -> None:
    found = only(interval_id=every(1, "hours"), last_run_at=NOW - timedelta(minutes=20))
    assert stands_at(found) == NOW + timedelta(minutes=40)


def test_a_crontab_goes_on_with_the_slot_after_its_last_run_also_if_that_was_missed() -> None:
    found = only(crontab_id=crontab(), last_run_at=NOW - DAY - timedelta(hours=4))
    assert stands_at(found) == NOW - DAY - timedelta(hours=3)


def test_one_that_never_ran_is_counted_from_its_last_change() -> None:
    assert stands_at(only(interval_id=every(1, "hours"), date_changed=NOW - HOUR / 2)) == NOW + HOUR / 2


@pytest.mark.parametrize(
    ("last", "start", "stands"),
    [
        (None, NOW + DAY, NOW + DAY),
        (NOW - HOUR / 2, NOW + DAY, NOW + DAY),
        (NOW - HOUR / 2, NOW - DAY, NOW + HOUR / 2),
    ],
)
def test_nothing_comes_before_its_start(last: datetime | None, start: datetime, stands: datetime) -> None:
    found = only(interval_id=every(1, "hours"), last_run_at=last, start_time=start)
    assert stands_at(found) == stands


def test_a_crontab_begins_with_its_first_slot_after_its_start() -> None:
    assert stands_at(only(crontab_id=crontab(), start_time=NOW + DAY)) == NOW + 2 * DAY - 3 * HOUR


def test_one_off_by_an_interval_comes_once_where_it_stands() -> None:
    found = only(interval_id=every(1, "hours"), one_off=True)
    assert (timetable(found), stands_at(found)) == (Timetable(at=NOW + HOUR), NOW + HOUR)


def test_a_disabled_one_stands_nowhere() -> None:
    found = only(interval_id=every(1, "hours"), enabled=False)
    assert (found.is_enabled, stands_at(found)) == (False, None)


def test_one_that_has_expired_is_off_as_beat_would_have_it() -> None:
    found = only(interval_id=every(1, "hours"), expires=NOW - DAY)
    assert (found.is_enabled, found.problem) == (False, "")
    assert found.notes == ("its expires is not kept: resume it only if it may go on for good",)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"task": "celery.backend_cleanup"}, "is Celery's own"),
        ({"one_off": True, "total_run_count": 1}, "is for one run, and is over"),
        ({"one_off": True, "enabled": False}, "is for one run, and is over"),
    ],
)
def test_what_nobody_misses_is_left_out(columns: dict[str, Any], why: str) -> None:
    put_task("a", columns.pop("task", "shop.a"), interval_id=every(1, "hours"), **columns)
    [found] = celery_beat.read(connection, NOW)
    assert found.is_needless
    assert found.problem.startswith(why)


def test_what_cannot_be_says_why() -> None:
    sun = put(f"{BEAT}solarschedule", event="sunrise", latitude=1, longitude=2)
    rows: dict[str, dict[str, Any]] = {
        "it follows the sun (sunrise)": {"solar_id": sun},
        "it comes every 15 microseconds: use 0.001": {"interval_id": every(15, "microseconds")},
        "it comes every 1 fortnights, which is no": {"interval_id": every(1, "fortnights")},
        "it ends at 2026-06-11 12:00:00Z": {"interval_id": every(1, "hours"), "expires": NOW + DAY},
        "it names no schedule": {},
        "it names several schedules": {"interval_id": every(1, "hours"), "solar_id": sun},
        "its args are no JSON": {"interval_id": every(1, "hours"), "args": "x"},
        "Celery runs it on days": {"crontab_id": crontab(day_of_month="13", day_of_week="5")},
        'use a time zone such as "Europe/Paris"': {"crontab_id": crontab(timezone="Mars/Dome")},
        "it comes every 99999999 days: use at most 100 years": {"interval_id": every(99999999, "days")},
        "its last_run_at 9999-12-31 23": {"interval_id": every(1, "hours"), "last_run_at": END_OF_CALENDAR},
        "its start_time 9999-12-31 23": {"crontab_id": crontab(), "start_time": END_OF_CALENDAR},
        "its date_changed 0001-01-01 00": {"crontab_id": crontab(), "date_changed": START_OF_CALENDAR},
        "its clocked_time 9999-12-31 23": {"clocked_id": clocked(END_OF_CALENDAR), "one_off": True},
    }
    for number, columns in enumerate(rows.values()):
        put_task(f"row {number}", "shop.a", **columns)
    found = celery_beat.read(connection, NOW)
    assert [each.problem[: len(why)] for each, why in zip(found, rows, strict=True)] == list(rows)
    assert not any(each.is_needless or each.when for each in found)


@pytest.mark.parametrize(("kind", "column"), [("interval", "every"), ("clocked", "clocked_time")])
def test_an_empty_column_says_so(kind: str, column: str) -> None:
    row = {"id": 7, "name": "a", "task": "shop.a", **TASK}
    found = celery_beat.found(row, {kind: {"period": "days", column: None}}, NOW)
    assert (found.problem, found.when) == (f"its {column} is empty", None)


def test_what_only_celery_has_a_place_for_is_told() -> None:
    found = only(
        interval_id=every(1, "hours"), queue="mail", priority=3, headers='{"x": 1}', routing_key="k", expire_seconds=60
    )
    assert (found.queue, found.priority) == ("mail", 3)
    assert found.notes == (
        "what routing_key says is not kept",
        "what headers says is not kept",
        "a run that waits longer than 60 s is not dropped any more",
    )
