"""Schedules are paused, resumed, made due now, given back to code, and deleted. Jobs appear with the next tick."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.ids import EPOCH
from jobs_app.lifecycle.control.acting import APP, Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import REPAIRED, on_schedules, update
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Origin, ScheduleState
from jobs_app.redaction import redact
from jobs_app.registry import registry

RESUME = f"{APP}.pause_schedule"
MOST_NAMED = 20  # in one event
WHY_NOT_DELETED: dict[str, str] = {
    Origin.CODE: "is declared in code: remove it there, or pause it",
    Origin.SOURCE: "comes from a source and would come back: pause it",
}


def pause_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Let them make no jobs until someone resumes them."""
    act = begin("pause", "pause_schedule", actor, reason)
    return on_schedules(schedules, act, lambda row: "is paused already" if row.paused else None, _pause)


def resume_schedule(schedules: Any, actor: Any, reason: str = "", *, backfill: bool = False) -> Acted:
    """Let them go on from now, without the slots that the pause swallowed: what has an interval is due at once, what
    has a cron at its next slot.

    With `backfill` they go on where they stood, and catch up as each of them does after an outage. Also brings back
    what was switched off by failures.
    """
    act = begin("resume", "pause_schedule", actor, reason)
    if backfill:
        return on_schedules(schedules, act, _why_no_resume, _resume_where_it_stood)
    return on_schedules(schedules, act, lambda row: _why_no_resume(row) or why_no_slots(row), _resume)


def trigger_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Make them due now, and resume those that are paused, for which a user needs the permission to resume too."""
    act = begin("trigger", "trigger_job", actor, reason)
    return on_schedules(schedules, act, partial(_why_no_trigger, act), _trigger)


def restore_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Give up what operators changed: from the next sync on they say what code or their source says."""
    act = begin("restore", "change_schedulestate", actor, reason)
    why_not = _if_permitted(act, lambda row: None if row.overrides else "has no overrides")
    return on_schedules(schedules, act, why_not, _restore)


def delete_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Delete what operators made, and what is gone from code. What a schedule has made stays as it is."""
    act = begin("delete", "delete_schedulestate", actor, reason)
    why_not = _if_permitted(act, lambda row: None if row.retired else WHY_NOT_DELETED.get(row.origin))
    return on_schedules(schedules, act, why_not, _delete)


def why_not_permitted(act: Act, row: ScheduleState) -> str | None:
    """Who plans the work of a job type needs the permission that the type asks for, as who triggers it does."""
    job_type = registry.find(row.job_type)
    if job_type is None or act.may(job_type.permission):
        return None
    return f"needs the permission {job_type.permission}"


def why_gone(row: ScheduleState) -> str | None:
    return None if row.job_type in registry else f"is of job type {row.job_type!r}, which is gone from code"


def why_no_slots(row: ScheduleState) -> str | None:
    """One such row, which somebody wrote by hand, must not stop an act on all others."""
    try:
        row.timetable.after(row.next_run_at or EPOCH)
    except (ValueError, OverflowError) as problem:
        return f"cannot tell its slots: {problem}"
    return None


def _if_permitted(act: Act, why_not: Callable[[ScheduleState], str | None]) -> Callable[[ScheduleState], str | None]:
    return lambda row: why_not_permitted(act, row) or why_not(row)


def _why_no_resume(row: ScheduleState) -> str | None:
    return None if row.paused or row.disabled else "is not paused"


def _why_no_trigger(act: Act, row: ScheduleState) -> str | None:
    if why := why_gone(row) or why_not_permitted(act, row):
        return why
    if row.retired:
        return "is retired: its code or its source has it no more"
    if row.paused and not act.may(RESUME):
        return f"is paused, and to resume it needs the permission {RESUME}"
    return "has had its last slot" if row.next_run_at is None else None


def _pause(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    update(connection, rows, paused=True)
    return {}


def _resume(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    now = database_now(connection)
    # Rows share their moment by the thousand: all with an interval, and all with the same cron.
    by_moment: dict[datetime | None, list[ScheduleState]] = defaultdict(list)
    for row in rows:
        by_moment[row.next_run_at and row.timetable.resumed(row.next_run_at, now)].append(row)
    for moment, same in by_moment.items():
        update(connection, same, paused=False, next_run_at=moment, **REPAIRED)
    return {}


def _resume_where_it_stood(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    update(connection, rows, paused=False, **REPAIRED)
    return {"backfill": True}


def _trigger(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    """The event tells which ones it resumed besides."""
    update(connection, rows, paused=False, next_run_at=database_now(connection), **REPAIRED)
    resumed = [row.pk for row in rows if row.paused]
    return {"resumed": resumed} if resumed else {}


def _restore(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    update(connection, rows, overrides={})
    return {"overrides": {str(row): redact(row.overrides) for row in rows[:MOST_NAMED]}}


def _delete(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows]).delete()
    return {"deleted": [str(row) for row in rows[:MOST_NAMED]]}
