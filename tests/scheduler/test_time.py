"""Clocks that go back, and grids over a day."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler.tick import tick
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db

HOUR = 3600
EVERYTHING = {"catch_up": "all", "catch_up_max": 1000}
KINDS: dict[str, dict[str, Any]] = {
    "newest": {},
    "all": {"catch_up": "all"},
    "on time": {"catch_up": "skip"},
    "cron": {"interval_seconds": None, "cron": "* * * * *"},
    "single": {"interval_seconds": None, "once_at": NOON},
}


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat() -> None: ...

    return beat


def tick_at(moment: datetime) -> int:
    with frozen_clock(moment):
        return len(tick(connection).made)


def slots_of(row: ScheduleState) -> list[datetime | None]:
    return list(Job.objects.filter(schedule=row.pk).order_by("slot_at").values_list("slot_at", flat=True))


@pytest.mark.spec("S0.24")
def test_a_clock_that_goes_back_an_hour_a_hundred_times_makes_no_slot_more() -> None:
    rows = {name: schedule("beat", name=name, **columns) for name, columns in KINDS.items()}
    for place in range(100):
        moment = after(place * 60)
        tick_at(moment)
        assert [tick_at(moment - timedelta(seconds=back)) for back in (HOUR, HOUR - 1, 1)] == [0, 0, 0]
    minutes = [after(60 * place) for place in range(100)]
    quarters = [after(15 * place) for place in range(99 * 4 + 1)]
    assert slots_of(rows["all"]) == quarters
    assert slots_of(rows["newest"]) == slots_of(rows["on time"]) == slots_of(rows["cron"]) == minutes
    assert slots_of(rows["single"]) == [NOON]


@pytest.mark.spec("S0.24")
def test_rows_that_a_clock_took_back_with_it_make_no_slot_more() -> None:
    """As if somebody wrote yesterday's place into the row: what was taken is taken."""
    rows = {name: schedule("beat", name=name, **columns) for name, columns in KINDS.items()}
    tick_at(after(90))
    before = {name: slots_of(row) for name, row in rows.items()}
    for _ in range(100):
        ScheduleState.objects.update(next_run_at=NOON)
        assert tick_at(after(90 - HOUR)) == tick_at(after(90)) == 0
    assert {name: slots_of(row) for name, row in rows.items()} == before


@pytest.mark.spec("S0.22")
def test_intervals_do_not_drift_in_a_day() -> None:
    """However late the ticks are, up to ten minutes, and by fractions of a second."""
    random, passed = Random(1), 0.0
    rows = [schedule("beat", name=str(every), interval_seconds=every, **EVERYTHING) for every in (15, 37.5, 100 / 3)]
    while passed < 24 * HOUR:
        tick_at(after(passed))
        passed += random.uniform(0, 600)
    tick_at(after(24 * HOUR))
    for row in rows:
        row.refresh_from_db()
        step = timedelta(seconds=row.interval_seconds or 0)
        slots = [NOON + place * step for place in range(timedelta(hours=24) // step + 1)]
        assert slots_of(row) == slots
        assert row.next_run_at == slots[-1] + step
