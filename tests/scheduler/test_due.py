"""Which schedules are due."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.models import ScheduleState
from jobs_app.scheduler.due import next_due, take_due, ticking_types
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat() -> None: ...

    return beat


def due(**options: Any) -> list[str]:
    given = {"now": NOON, "after": None, "limit": 10, **options}
    return [str(row) for row in take_due(connection, ticking_types(), **given)]


@pytest.mark.spec("S0.20")
def test_a_schedule_is_due_from_its_moment_on() -> None:
    schedule("beat", subject="now")
    schedule("beat", subject="later", next_run_at=after(0.001))
    assert due() == ["beat now"]
    assert due(now=after(1)) == ["beat now", "beat later"]


@pytest.mark.parametrize(
    "columns",
    [
        {"paused": True},
        {"retired": True},
        {"next_run_at": None},
        {"job_type": "unknown"},
        {"interval_seconds": None, "cron": "* * * * *"},
    ],
)
def test_what_is_stopped_or_not_for_us_is_never_due(columns: dict[str, Any]) -> None:
    schedule(**{"job_type": "beat", **columns})
    assert due(now=after(3600)) == []
    assert next_due(connection, ticking_types(), after=after(-3600)) is None


def test_what_waits_longest_comes_first_and_batches_go_on_from_there() -> None:
    for late in (3, 1, 2, 2):
        schedule("beat", subject=f"{late}-{ScheduleState.objects.count()}", next_run_at=after(-late))
    assert due(limit=2) == ["beat 3-0", "beat 2-2"]
    last = take_due(connection, ticking_types(), now=NOON, after=None, limit=2)[-1]
    assert due(after=last) == ["beat 2-3", "beat 1-1"]


def test_the_next_slot_is_the_first_after_the_last_tick() -> None:
    assert next_due(connection, ticking_types(), after=NOON) is None
    schedule("beat", subject="failed and still due", failures=1)
    schedule("beat", subject="b", next_run_at=after(30))
    schedule("beat", subject="a", next_run_at=after(10))
    assert next_due(connection, ticking_types(), after=NOON) == after(10)


def test_a_slot_that_another_scheduler_has_in_hand_is_still_next() -> None:
    schedule("beat", subject="failed and still due", failures=1, next_run_at=after(-10))
    schedule("beat", subject="in hand", next_run_at=after(-5))
    assert next_due(connection, ticking_types(), after=NOON) == after(-5)


def test_types_that_are_switched_off_wait() -> None:
    @job(enabled=lambda: False)
    def off() -> None: ...

    assert ticking_types() == ["beat"]


def test_a_switch_that_fails_stops_its_own_type_only(caplog: pytest.LogCaptureFixture) -> None:
    @job(enabled=lambda: bool(1 / 0))
    def broken() -> None: ...

    with caplog.at_level(logging.ERROR, "jobs_app"):
        assert ticking_types() == ["beat"]
    assert "its enabled= failed" in caplog.text


def test_the_cost_follows_the_due_rows_and_not_the_table(is_postgres: bool) -> None:
    rows = [
        ScheduleState(job_type="beat", subject=str(n), interval_seconds=15, next_run_at=after(n)) for n in range(2000)
    ]
    ScheduleState.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_app_schedulestate")
    with CaptureQueriesContext(connection) as captured:
        (first,) = take_due(connection, ["beat"], now=NOON, after=None, limit=10)
        take_due(connection, ["beat"], now=after(9), after=first, limit=10)
        next_due(connection, ["beat"], after=NOON)
    for query in [query["sql"] for query in captured]:
        with connection.cursor() as cursor:
            cursor.execute(("EXPLAIN " if is_postgres else "EXPLAIN QUERY PLAN ") + query)
            assert "jobs_app_schedule_due" in str(cursor.fetchall()), query
