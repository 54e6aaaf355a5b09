"""Schedules as tests need them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ScheduleState
from jobs_app.scheduler.tick import Ticked, tick

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def schedule(job_type: str, **columns: Any) -> ScheduleState:
    """A schedule every 15 seconds, due at noon unless said otherwise."""
    return ScheduleState.objects.create(
        **{"job_type": job_type, "interval_seconds": 15, "next_run_at": NOON, **columns}
    )


def tick_at(seconds: float, **options: Any) -> Ticked:
    """One tick, so many seconds after noon."""
    with frozen_clock(after(seconds)):
        return tick(connection, **options)
