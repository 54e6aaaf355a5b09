"""What the schedules will make in the next hour."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import next_hour as module
from jobs_app.insights.next_hour import NextHour, next_hour
from jobs_app.models import ScheduleState
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


def schedule(job_type: str, subject: str = "", *, first: float = 0, **columns: Any) -> None:
    """Its next slot is so many minutes from now."""
    given = {"job_type": job_type, "subject": subject, "next_run_at": T + timedelta(minutes=first), "timezone": "UTC"}
    ScheduleState.objects.create(**given | columns)


def minute(number: float) -> datetime:
    return T + timedelta(minutes=number)


def told(found: NextHour) -> list[tuple[int, str, int]]:
    return [(int((each.at - T) / timedelta(minutes=1)), each.job_type, each.slots) for each in found.entries]


def test_slots_are_merged_by_job_type_and_minute() -> None:
    for number in range(12):
        schedule("poll", f"s{number}", first=10 + number / 60, interval_seconds=1800)
    schedule("export", first=5, cron="5 * * * *")
    found = next_hour(connection, T)
    assert told(found) == [(5, "export", 1), (10, "poll", 12), (40, "poll", 12)]
    assert found.complete_until is None


def test_what_makes_no_slot_is_not_among_them() -> None:
    for name, columns in {
        "paused": {"paused": True},
        "retired": {"retired": True},
        "disabled": {"disabled": True},
        "later": {"first": 61},
        "done": {"next_run_at": None},
        "jobs.prune": {},
    }.items():
        schedule(name, interval_seconds=60 * 60 * 24, **columns)
    assert told(next_hour(connection, T)) == []


def test_several_slots_of_one_minute_are_counted_and_what_is_late_comes_now() -> None:
    schedule("fast", first=58, interval_seconds=20)
    schedule("late", first=-60 * 24, interval_seconds=60 * 45)
    assert told(next_hour(connection, T + timedelta(seconds=5))) == [
        (0, "late", 1),
        (45, "late", 1),
        (58, "fast", 3),
        (59, "fast", 3),
        (60, "fast", 1),
    ]


def test_it_stops_where_there_is_enough_and_says_how_far_it_is_complete() -> None:
    for number in range(5):
        schedule(f"t{number}", first=number, interval_seconds=86400)
    found = next_hour(connection, T, limit=3)
    assert told(found) == [(0, "t0", 1), (1, "t1", 1), (2, "t2", 1)]
    assert found.complete_until == minute(3)


def test_what_comes_often_is_told_once_and_hides_nothing() -> None:
    schedule("heartbeat", first=1, interval_seconds=15)
    schedule("report", first=30, interval_seconds=86400)
    found = next_hour(connection, T)
    assert told(found) == [(1, "heartbeat", 237), (30, "report", 1)]
    assert [each.is_often for each in found.entries] == [True, False]
    assert found.complete_until is None


def test_no_more_slots_are_followed_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SLOTS", 30)
    schedule("fast", interval_seconds=1)
    found = next_hour(connection, T)
    assert (told(found), found.complete_until) == ([(0, "fast", 30)], T + timedelta(seconds=30))


def test_no_more_rules_are_read_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RULES", 2)
    for number in range(4):
        schedule(f"t{number}", first=number, interval_seconds=86400)
    found = next_hour(connection, T)
    assert (told(found), found.complete_until) == ([(0, "t0", 1), (1, "t1", 1)], minute(1))


@pytest.mark.parametrize("columns", [{"cron": "not a cron"}, {"once_at": T + timedelta(minutes=7), "first": 7}])
def test_a_rule_without_a_next_slot_has_only_the_one_it_stands_at(columns: dict[str, Any]) -> None:
    schedule("one", **columns)
    assert [(each.job_type, each.slots) for each in next_hour(connection, T).entries] == [("one", 1)]
