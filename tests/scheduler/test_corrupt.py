"""A row that nothing can be made of stops no other, wherever its fault is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.models import ControlEvent, Job, ScheduleState
from jobs_app.scheduler.due import next_due
from tests.scheduler.schedules import NOON, after, schedule, tick_at

pytestmark = pytest.mark.django_db

MINUTES = 5
UNREADABLE = 'payload = \'{"n": ' + "9" * 5000 + "}'"
BROKEN = {
    "a cron that is none": "interval_seconds = NULL, cron = 'every now and then'",
    "a cron without a slot": "interval_seconds = NULL, cron = '0 0 31 2 *'",
    "a zone that is none": "interval_seconds = NULL, cron = '* * * * *', timezone = 'Mars/Olympus'",
    "an interval below a microsecond": "interval_seconds = 1e-12",
    "an interval beyond the end of time": "interval_seconds = 1e300",
    "an interval that ends after the year 9999": "interval_seconds = 1e12",
    "a payload that is a list": "payload = '[1, 2]'",
    "a payload that is a text": "payload = '\"n\"'",
    "a payload that is null": "payload = 'null'",
    "a payload for another job": "payload = '{\"unknown\": 1}'",
    "a payload that nobody can read": UNREADABLE,
    "nothing to catch up": "catch_up = 'all', catch_up_max = 0",
    "a policy that is none": "catch_up = 'some', overlap = 'never'",
    "a spread beyond the end of time": "catch_up = 'all', spread_seconds = 1e300",
    "a spread that ends after the year 9999": "catch_up = 'all', spread_seconds = 1e12",
    "a jitter beyond the end of time": "jitter_seconds = 1e300",
    "a jitter that ends after the year 9999": "jitter_seconds = 1e12",
    "a window beyond the end of time": "catch_up_window_seconds = 1e300",
    "a slot of long ago": "next_run_at = '0001-01-02 00:00:00+00:00'",
    "a last slot at the end of time": "last_slot = '9999-12-31 23:59:59+00:00'",
    "as many failures as there can be": "failures = 2147483647, payload = '[]'",
    "as many slots as there can be": "skipped_slots = 9223372036854775807, next_run_at = '2025-01-01 00:00:00+00:00'",
    "more slots than an event can count": "interval_seconds = 0.001, next_run_at = '2025-01-01 00:00:00+00:00'",
}
BROKEN_ON_POSTGRES = {
    "an endless interval": "interval_seconds = 'Infinity'",
    "an interval that is no number": "interval_seconds = 'NaN'",
    "a jitter that is no number": "jitter_seconds = 'NaN'",
    "a slot before all time": "next_run_at = '-infinity'",
    "a last slot after all time": "last_slot = 'infinity'",
    "a moment that is none": "failing_since = '-infinity'",
}
BROKEN_ON_SQLITE = {
    "a slot that is no moment": "next_run_at = '0'",
    "a last slot that is no moment": "last_slot = 'yesterday'",
    "an interval that is no number": "interval_seconds = 'often'",
    "a failure that is no number": "failures = 'many'",
}


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat(n: int = 0) -> None: ...

    return beat


def jobs_by_subject() -> Counter[str]:
    return Counter(Job.objects.values_list("subject", flat=True))


def broken() -> dict[str, str]:
    return BROKEN | (BROKEN_ON_POSTGRES if connection.vendor == "postgresql" else BROKEN_ON_SQLITE)


def damage(row: ScheduleState, change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE jobs_app_schedulestate SET {change} WHERE id = {row.pk}")


@pytest.mark.parametrize("damaged", sorted({*BROKEN, *BROKEN_ON_POSTGRES, *BROKEN_ON_SQLITE}))
def test_one_corrupt_row_stops_no_other(damaged: str) -> None:
    if damaged not in broken():
        pytest.skip("not on this database")
    rows = [schedule("beat", subject=str(place), interval_seconds=60) for place in range(4)]
    damage(rows[1], broken()[damaged])
    for minute in range(MINUTES):
        tick_at(minute * 60)
    made = jobs_by_subject()
    assert {subject: made[subject] for subject in "023"} == dict.fromkeys("023", MINUTES)


@pytest.mark.spec("S0.22")
def test_one_that_raises_at_every_tick_among_a_hundred_leaves_the_others_exact(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @job(subject=lambda payload: str(1 // 0))
    def raises() -> None: ...

    schedule("raises", interval_seconds=60)
    for place in range(99):
        schedule("beat", subject=str(place), interval_seconds=60, catch_up="all")
    for minute in (0, 1, 2, 5, 6, 9):
        ticked = tick_at(minute * 60 + 7)
        assert ticked.failed.total() == 1
    assert jobs_by_subject() == dict.fromkeys(map(str, range(99)), 10)
    assert len(caplog.records) == 1, "the same failure is told once"


def test_a_row_that_cannot_be_read_is_told_and_given_up_as_any_other(caplog: pytest.LogCaptureFixture) -> None:
    row = schedule("beat", subject="bad")
    damage(row, UNREADABLE)
    ticked = [tick_at(seconds) for seconds in (0, 150, 300, 450, 599, 600, 601)]
    assert [(each.rows, each.failed.total()) for each in ticked] == [(1, 1)] * 6 + [(0, 0)]
    told = ScheduleState.objects.filter(pk=row.pk).values_list("disabled", "next_run_at", "failing_since", "updated_at")
    assert list(told) == [(True, NOON, NOON, after(600))]
    event = ControlEvent.objects.get()
    assert (event.action, event.target, event.actor) == ("disable", "beat bad", "scheduler")
    assert "4300 digits" in event.reason
    first, last = (record.getMessage() for record in caplog.records)
    assert first.startswith("schedule beat bad made no job and stays due: ValueError")
    assert last.startswith("schedule beat bad failed for too long and is switched off")
    damage(row, "payload = '{}', disabled = false")
    assert len(tick_at(602).made) == 1


def test_many_rows_that_cannot_be_read_do_not_hide_the_ones_behind_them() -> None:
    for place in range(5):
        damage(schedule("beat", subject=str(place), next_run_at=after(place - 10)), UNREADABLE)
    schedule("beat", subject="good")
    ticked = tick_at(0, limit=2)
    assert (ticked.rows, ticked.failed.total(), len(ticked.made)) == (6, 5, 1)
    assert (tick_at(1, rest=300).rows, tick_at(2).rows) == (0, 5), "they rest as others that failed"


def test_a_slot_that_cannot_be_read_is_due_and_its_turn_lets_the_next_one_be_seen(is_postgres: bool) -> None:
    row = schedule("beat", subject="bad")
    schedule("beat", subject="good", next_run_at=after(30))
    damage(row, f"next_run_at = '{'-infinity' if is_postgres else '2025-12-32 00:00:00'}'")
    first = next_due(connection, ["beat"])
    assert first is not None
    assert first < NOON
    assert tick_at(0).failed.total() == 1
    assert next_due(connection, ["beat"]) == after(30)
