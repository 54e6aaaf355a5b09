"""Which schedules are due."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler.due import Due, live_states, next_due, take_due, ticking_types
from jobs_app.scheduler.tick import tick
from tests.by_hand import HandWorker
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat() -> None: ...

    return beat


def take(*, now: datetime = NOON, rest: float = 0, last: Any = None, limit: int = 10) -> list[ScheduleState]:
    return take_due(connection, Due(job_types=["beat"], now=now, rest=rest), after=last, limit=limit)


def due(**options: Any) -> list[str]:
    return [str(row) for row in take(**options)]


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
        {"disabled": True},
        {"next_run_at": None},
        {"job_type": "unknown"},
    ],
)
def test_what_is_stopped_or_not_for_us_is_never_due(columns: dict[str, Any]) -> None:
    schedule(**{"job_type": "beat", **columns})
    assert due(now=after(3600)) == []
    assert next_due(connection, ticking_types(connection, NOON)) is None


def test_what_waits_longest_comes_first_and_batches_go_on_from_there() -> None:
    for late in (3, 1, 2, 2):
        schedule("beat", subject=f"{late}-{ScheduleState.objects.count()}", next_run_at=after(-late))
    assert due(limit=2) == ["beat 3-0", "beat 2-2"]
    assert due(last=take(limit=2)[-1]) == ["beat 2-3", "beat 1-1"]


def test_the_next_slot_is_the_first_that_had_no_turn() -> None:
    assert next_due(connection, ticking_types(connection, NOON)) is None
    schedule("beat", subject="failed and still due", failures=1)
    schedule("beat", subject="behind", last_run_at=after(60))
    schedule("beat", subject="b", next_run_at=after(30), last_run_at=after(15))
    schedule("beat", subject="a", next_run_at=after(10))
    assert next_due(connection, ticking_types(connection, NOON)) == after(10)


@pytest.mark.spec("S0.21")
@pytest.mark.parametrize("columns", [{"failures": 1}, {"last_run_at": after(60)}])
def test_what_had_its_turn_and_is_due_still_rests_whoever_ticks(columns: dict[str, Any]) -> None:
    row = schedule("beat", **columns)
    ScheduleState.objects.filter(pk=row.pk).update(updated_at=after(60))
    assert due(now=after(60), rest=300) == due(now=after(359), rest=300) == []
    assert due(now=after(360), rest=300) == ["beat"]
    assert due(now=after(61)) == ["beat"], "a tick by hand waits for nothing"


def test_a_slot_that_another_scheduler_has_in_hand_is_still_next() -> None:
    schedule("beat", subject="failed and still due", failures=1, next_run_at=after(-10))
    schedule("beat", subject="in hand", next_run_at=after(-5))
    assert next_due(connection, ticking_types(connection, NOON)) == after(-5)


def test_the_jobs_of_schedules_that_wait_and_run_are_told() -> None:
    busy, waiting, idle = (schedule("beat", subject=name) for name in ("busy", "waiting", "idle"))
    with frozen_clock(NOON):
        tick(connection)
        Job.objects.filter(schedule=idle.pk).delete()
        HandWorker().claim(limit=1)
    busy, waiting = sorted((busy.pk, waiting.pk), key=lambda pk: Job.objects.get(schedule=pk).state, reverse=True)
    assert live_states(connection, [busy, waiting, idle.pk]) == {busy: {"running"}, waiting: {"queued"}}


def test_types_that_are_switched_off_wait() -> None:
    @job(enabled=lambda: False)
    def off() -> None: ...

    assert ticking_types(connection, NOON) == ["beat"]


def test_a_switch_that_fails_stops_its_own_type_only(caplog: pytest.LogCaptureFixture) -> None:
    @job(enabled=lambda: bool(1 / 0))
    def broken() -> None: ...

    with caplog.at_level(logging.ERROR, "jobs_app"):
        assert ticking_types(connection, NOON) == ["beat"]
    assert "its enabled= failed" in caplog.text


@pytest.mark.parametrize("has_statistics", [True, False])
def test_the_cost_follows_the_due_rows_and_not_the_table(is_postgres: bool, has_statistics: bool) -> None:
    if is_postgres and not has_statistics:
        pytest.skip("a server sees to them")
    rows = [
        ScheduleState(job_type="beat", subject=str(n), interval_seconds=15, next_run_at=after(n)) for n in range(2000)
    ]
    ScheduleState.objects.bulk_create(rows)
    if has_statistics:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE jobs_app_schedulestate")
    with CaptureQueriesContext(connection) as captured:
        (first,) = take(rest=300)
        take(now=after(9), last=first)
        next_due(connection, ["beat"])
    for query in [query["sql"] for query in captured]:
        with connection.cursor() as cursor:
            cursor.execute(("EXPLAIN " if is_postgres else "EXPLAIN QUERY PLAN ") + query)
            assert "jobs_app_schedule_due" in str(cursor.fetchall()), query
