"""Schedules are made and changed at run time: in words that `@job` knows too, checked before anything is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.conf import get_settings
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import Name, lock
from jobs_app.lifecycle.control.schedules import REPAIRED
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.models import Origin, ScheduleState
from jobs_app.options import read, subject_text
from jobs_app.payloads import checked
from jobs_app.registry import JobType, registry
from jobs_app.schedule_columns import COLUMNS, columns_of, first_slot, timetable_columns
from jobs_app.schedule_options import READERS, ScheduleOptions, take
from jobs_app.strict_json import dumps


def add_schedule(
    job_type: str, actor: Any, reason: str = "", *, subject: str = "", name: str = "", **options: Any
) -> Acted:
    """Let a job type come back, from the next tick on: every=, per_hour=, cron= with timezone=, or once, at=.

    Other options as in `@job`. A job type has one schedule without a name for each subject; further ones have a name.
    """
    act = begin("add_schedule", "add_schedulestate", actor, reason)
    known = _permitted(act, job_type)
    row = ScheduleState(job_type=job_type, subject=subject, name=name, origin=Origin.ADMIN)
    _require_name(row)
    said = _read(row, options).over(known.schedule)
    if said.timetable is None:
        raise OptionInvalid(f"schedule {row}: when? Give every=, per_hour=, cron= or at=.")
    connection = jobs_connection()
    with write_savepoint(connection):
        now = database_now(connection)
        _require_future(row, said, now)
        _set(row, columns_of(said, subject=subject))
        _require_payload(known, row)
        row.next_run_at = first_slot(said, now)
        _require_new(connection, row)
        row.save(using=connection.alias, force_insert=True)
        acted = Acted(moved=[row.pk])
        act.record(connection, "schedule", str(row), acted, {"when": str(row.timetable)})
    return acted


def change_schedule(schedule: Any, actor: Any, reason: str = "", **options: Any) -> Acted:
    """Change what is given and leave the rest. What code or a source says otherwise is overridden until `restore`.

    Another interval counts from the slot that is next anyway; another cron from now. What was switched off by failures
    is switched on again.
    """
    act = begin("change_schedule", "change_schedulestate", actor, reason)
    connection = jobs_connection()
    with write_savepoint(connection):
        row = _one(connection, getattr(schedule, "pk", schedule))
        known = _permitted(act, row.job_type)
        changes = _changes(row, options)
        _require_future(row, _read(row, options), database_now(connection))
        before = {name: getattr(row, name) for name in changes}
        _set(row, changes)
        _require_payload(known, row)
        row.next_run_at = _next_slot(row, before, database_now(connection))
        if row.origin != Origin.ADMIN:
            row.overrides = {**row.overrides, **{name: _as_json(value) for name, value in changes.items()}}
        _set(row, REPAIRED)
        row.save(using=connection.alias)
        acted = Acted(moved=[row.pk])
        act.record(connection, "schedule", str(row), acted, _told(before, changes))
    return acted


def _permitted(act: Act, job_type: str) -> JobType:
    known = registry.get(job_type)
    if not act.may(known.permission):
        raise PermissionDenied(f"{act.name}: {act.actor} has no permission {known.permission}.")
    return known


def _require_name(row: ScheduleState) -> None:
    try:
        subject_text(row.subject)
        if row.name:
            values.name(row.name)
    except ValueError as problem:
        raise OptionInvalid(f"schedule {row}: its subject or name cannot be used: {problem}.") from None


def _read(row: ScheduleState, options: dict[str, Any]) -> ScheduleOptions:
    try:
        return take(read(options, READERS, OptionInvalid, f"schedule {row}"))
    except ValueError as problem:
        raise OptionInvalid(f"schedule {row}: {problem}.") from None


def _require_new(connection: BaseDatabaseWrapper, row: ScheduleState) -> None:
    same = ScheduleState.objects.using(connection.alias).filter(
        job_type=row.job_type, subject=row.subject, name=row.name
    )
    if same.exists() or (not row.subject and not row.name and registry.get(row.job_type).schedule.timetable):
        raise OptionInvalid(f"there is a schedule {row} already. Change that one, or give this one another name=.")


def _require_future(row: ScheduleState, options: ScheduleOptions, now: datetime) -> None:
    moment = options.timetable.at if options.timetable else None
    if moment is not None and moment <= now:
        raise OptionInvalid(f"schedule {row}: at={moment} has passed already.")


def _require_payload(job_type: JobType, row: ScheduleState) -> None:
    dumps(row.payload, limit=get_settings().max_payload_bytes)
    checked(job_type, row.payload)


def _one(connection: BaseDatabaseWrapper, name: Name) -> ScheduleState:
    row = lock(connection, [name]).get(name)
    if row is None:
        raise OptionInvalid(f"there is no schedule {name!r}.")
    return row


def _changes(row: ScheduleState, options: dict[str, Any]) -> dict[str, Any]:
    """The columns that are to change."""
    if not options:
        raise OptionInvalid(f"schedule {row}: what shall change? Known are: {', '.join(READERS)}.")
    if "phase" in options:
        raise OptionInvalid(f"schedule {row}: phase= is about the first slot of a new schedule.")
    if "timezone" in options and "cron" not in options and row.cron:
        options = {**options, "cron": row.cron}
    said = _read(row, options)
    columns = {COLUMNS.get(name, name): getattr(said, name) for name in options if hasattr(said, name)}
    # None is what nobody said: the default of the job type, of the subject, of the settings.
    usual = columns_of(said.over(registry.get(row.job_type).schedule).over(_now(row)), subject=row.subject)
    filled = {name: usual[name] if value is None else value for name, value in columns.items()}
    return filled | (timetable_columns(said.timetable) if said.timetable else {})


def _now(row: ScheduleState) -> ScheduleOptions:
    return ScheduleOptions(timetable=row.timetable)


def _next_slot(row: ScheduleState, before: dict[str, Any], now: datetime) -> datetime | None:
    clock = {name: value for name, value in before.items() if name in ("cron", "timezone", "once_at")}
    is_other_clock = any(value != getattr(row, name) for name, value in clock.items())
    if is_other_clock or row.next_run_at is None:
        return row.timetable.first(now)
    return row.next_run_at


def _set(row: ScheduleState, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        setattr(row, name, value)


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _told(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        "changed": {
            name: {"from": _as_json(before[name]), "to": _as_json(after[name])}
            for name in after
            if before[name] != after[name]
        }
    }
