"""Schedules are paused, resumed, made due now, given back to code, and deleted. Jobs appear with the next tick."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Value, When

from jobs_app.lifecycle.control.acting import APP, Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import on_schedules
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Origin, ScheduleState
from jobs_app.registry import registry

RESUME = f"{APP}.resume_work"
REPAIRED = {"disabled": False, "failures": 0, "failing_since": None, "last_error": ""}
WHY_NOT_DELETED: dict[str, str] = {
    Origin.CODE: "is declared in code: remove it there, or pause it",
    Origin.SOURCE: "comes from a source and would come back: pause it",
}


def pause_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Let them make no jobs until someone resumes them."""
    act = begin("pause", "pause_work", actor, reason)
    return on_schedules(schedules, act, lambda row: "is paused already" if row.paused else None, _pause)


def resume_schedule(schedules: Any, actor: Any, reason: str = "", *, backfill: bool = False) -> Acted:
    """Let them go on from now: one slot is due at once, and those that the pause swallowed are not made up for.

    With `backfill` they go on where they stood, and catch up as each of them does after an outage. Also brings back
    what was switched off by failures.
    """
    act = begin("resume", "resume_work", actor, reason)
    return on_schedules(schedules, act, _why_no_resume, partial(_resume, keep=backfill))


def trigger_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Make them due now, and resume those that are paused, for which a user needs the permission to resume too."""
    act = begin("trigger", "trigger_job", actor, reason)
    return on_schedules(schedules, act, lambda row: _why_no_trigger(act, row), _trigger)


def restore_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Give up what operators changed: from the next sync on they say what code or their source says."""
    act = begin("restore", "change_schedulestate", actor, reason)
    return on_schedules(schedules, act, lambda row: None if row.overrides else "has no overrides", _restore)


def delete_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Delete what operators made, and what is gone from code. What a schedule has made stays as it is."""
    act = begin("delete", "delete_schedulestate", actor, reason)
    return on_schedules(schedules, act, lambda row: None if row.retired else WHY_NOT_DELETED.get(row.origin), _delete)


def _why_no_resume(row: ScheduleState) -> str | None:
    return None if row.paused or row.disabled else "is not paused"


def _why_no_trigger(act: Act, row: ScheduleState) -> str | None:
    job_type = registry.find(row.job_type)
    if row.retired or job_type is None:
        return f"is of job type {row.job_type!r}, which is gone from code"
    if not act.may(job_type.permission):
        return f"needs the permission {job_type.permission}"
    if row.paused and not act.may(RESUME):
        return f"is paused, and to resume it needs the permission {RESUME}"
    return "has had its last slot" if row.next_run_at is None else None


def _pause(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    _update(connection, rows, paused=True)
    return {}


def _resume(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState], *, keep: bool) -> dict[str, Any]:
    when = {} if keep else {"next_run_at": _now_if_any(connection)}
    _update(connection, rows, paused=False, **REPAIRED, **when)
    return {"backfill": True} if keep else {}


def _trigger(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    """The event tells which ones it resumed besides."""
    _update(connection, rows, paused=False, next_run_at=_now_if_any(connection), **REPAIRED)
    resumed = [row.pk for row in rows if row.paused]
    return {"resumed": resumed} if resumed else {}


def _restore(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    _update(connection, rows, overrides={})
    return {"overrides": {str(row): row.overrides for row in rows[:20]}}


def _delete(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[str, Any]:
    ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows]).delete()
    return {"deleted": [str(row) for row in rows[:200]]}


def _now_if_any(connection: BaseDatabaseWrapper) -> Case:
    """What has had its last slot gets no other."""
    return Case(When(next_run_at__isnull=False, then=Value(database_now(connection))))


def _update(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState], **changes: Any) -> None:
    same = ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows])
    same.update(updated_at=database_now(connection), **changes)
