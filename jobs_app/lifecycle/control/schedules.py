"""Schedules are paused, resumed, and made due now. The job appears with the next tick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Q, Value, When

from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import APP, Act, Acted, begin
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.models import ScheduleState
from jobs_app.registry import registry

SCHEDULES_PER_CHUNK = 200
RESUME = f"{APP}.resume_work"

Name = int | tuple[str, str, str]  # its id, or its job type, subject and name
WhyNot = Callable[[ScheduleState], str | None]


def pause_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Let them make no jobs until someone resumes them."""
    act = begin("pause", "pause_work", actor, reason)
    return _on_schedules(schedules, act, lambda row: "is paused already" if row.paused else None, paused=True)


def resume_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Let them go on from now: one slot is due at once, and those that the pause swallowed are not made up for."""
    act = begin("resume", "resume_work", actor, reason)
    return _on_schedules(schedules, act, lambda row: None if row.paused else "is not paused", paused=False)


def trigger_schedule(schedules: Any, actor: Any, reason: str = "") -> Acted:
    """Make them due now, and resume those that are paused, for which a user needs the permission to resume too."""
    act = begin("trigger", "trigger_job", actor, reason)
    return _on_schedules(schedules, act, lambda row: _why_no_trigger(act, row), paused=False)


def _why_no_trigger(act: Act, row: ScheduleState) -> str | None:
    job_type = registry.find(row.job_type)
    if row.retired or job_type is None:
        return f"is of job type {row.job_type!r}, which is gone from code"
    if not act.may(job_type.permission):
        return f"needs the permission {job_type.permission}"
    if row.paused and not act.may(RESUME):
        return f"is paused, and to resume it needs the permission {RESUME}"
    return "has had its last slot" if row.next_run_at is None else None


def _on_schedules(schedules: Any, act: Act, why_not: WhyNot, *, paused: bool) -> Acted:
    connection = jobs_connection()
    total = Acted()
    names = _names(schedules)
    for first in range(0, len(names), SCHEDULES_PER_CHUNK):
        chunk = names[first : first + SCHEDULES_PER_CHUNK]
        with write_savepoint(connection):
            found = _lock(connection, chunk)
            acted = _split(chunk, found, why_not)
            _change(connection, acted.moved, paused=paused)
            act.record(connection, *_target(chunk, found), acted, _detail(act, acted, chunk, found))
        total.add(acted)
    return total


def _names(schedules: Any) -> list[Name]:
    """Of one schedule or of many: ids, (job type, subject, name), or rows. Each once."""
    is_one = _is_full_name(schedules) or not isinstance(schedules, Iterable) or isinstance(schedules, str)
    names = [getattr(one, "pk", one) for one in ([schedules] if is_one else schedules)]
    for name in names:
        if not _is_full_name(name) and (not isinstance(name, int) or isinstance(name, bool)):
            raise OptionInvalid(f"{name!r} names no schedule: give its id, or (job type, subject, name).")
    return list(dict.fromkeys(names))


def _is_full_name(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 3 and all(isinstance(part, str) for part in name)


def _lock(connection: BaseDatabaseWrapper, names: Sequence[Name]) -> dict[Name, ScheduleState]:
    full = [name for name in names if isinstance(name, tuple)]
    wanted = [Q(job_type=job_type, subject=subject, name=name) for job_type, subject, name in full]
    by_any_name = reduce(or_, wanted, Q(pk__in=[name for name in names if isinstance(name, int)]))
    rows = ScheduleState.objects.using(connection.alias).filter(by_any_name).order_by("pk").select_for_update()
    found: dict[Name, ScheduleState] = {}
    for row in rows:
        found[row.pk] = found[row.job_type, row.subject, row.name] = row
    return found


def _split(names: Sequence[Name], found: dict[Name, ScheduleState], why_not: WhyNot) -> Acted:
    acted = Acted()
    for name in names:
        row = found.get(name)
        why = "does not exist" if row is None else why_not(row)
        if why is not None:
            acted.skipped[name] = why
        elif row is not None:
            acted.moved.append(row.pk)
    return acted


def _change(connection: BaseDatabaseWrapper, moved: Sequence[int], *, paused: bool) -> None:
    now = database_now(connection)
    changes: dict[str, Any] = {"paused": paused, "updated_at": now}
    if not paused:
        changes["next_run_at"] = Case(When(next_run_at__isnull=False, then=Value(now)))
    ScheduleState.objects.using(connection.alias).filter(pk__in=moved).update(**changes)


def _target(names: Sequence[Name], found: dict[Name, ScheduleState]) -> tuple[str, str]:
    if len(names) > 1:
        return "schedules", f"{len(names)} schedules"
    [name] = names
    return "schedule", str(found.get(name, name))


def _detail(act: Act, acted: Acted, names: Sequence[Name], found: dict[Name, ScheduleState]) -> dict[str, Any]:
    """Which ones, and which of them a trigger resumed besides: `found` has them as they were."""
    detail = {"moved": acted.moved} if len(names) > 1 else {}
    resumed = [pk for pk in acted.moved if found[pk].paused] if act.name == "trigger" else []
    return detail | ({"resumed": resumed} if resumed else {})
