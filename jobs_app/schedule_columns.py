"""What is said of a schedule, as the columns of its row, with every default filled in."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from jobs_app.conf import get_settings
from jobs_app.schedule_options import ScheduleOptions
from jobs_app.timetable import Timetable

COLUMNS = {  # options whose column has another name
    "catch_up_window": "catch_up_window_seconds",
    "spread": "spread_seconds",
    "jitter": "jitter_seconds",
}
TIMETABLE_COLUMNS = ("interval_seconds", "cron", "timezone", "once_at")
# Another value in one of these counts from now; another interval from the slot that is next anyway.
CLOCK_COLUMNS = frozenset(TIMETABLE_COLUMNS) - {"interval_seconds"}


def columns_of(options: ScheduleOptions, *, subject: str) -> dict[str, Any]:
    """All columns that code, a source or an operator may say."""
    assert options.timetable is not None
    settings = get_settings()
    # What a subject missed is made up for; global work and work by the clock is not replayed.
    usual = "all" if subject and options.timetable.every is not None else "once"
    return {
        **timetable_columns(options.timetable),
        "payload": dict(options.payload or {}),
        "catch_up": options.catch_up or usual,
        "catch_up_max": options.catch_up_max or settings.catch_up_max,
        "catch_up_window_seconds": options.catch_up_window,
        "spread_seconds": settings.catch_up_spread_seconds if options.spread is None else options.spread,
        "jitter_seconds": settings.schedule_jitter_seconds if options.jitter is None else options.jitter,
        "overlap": options.overlap or "allow",
    }


def timetable_columns(timetable: Timetable) -> dict[str, Any]:
    return {
        "interval_seconds": timetable.every,
        "cron": timetable.cron,
        "timezone": timetable.timezone,
        "once_at": timetable.at,
    }


def first_slot(options: ScheduleOptions, now: datetime) -> datetime | None:
    """Where a new schedule begins. The phase is used here and at no other time, and moves intervals only."""
    assert options.timetable is not None
    phase = get_settings().schedule_phase_seconds if options.phase is None else options.phase
    first = options.timetable.first(now)
    if first is None or options.timetable.every is None:
        return first
    return first + timedelta(seconds=phase)
