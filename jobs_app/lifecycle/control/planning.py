"""Schedules are made and changed at run time: in words that `@job` knows too, checked before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.errors import OptionInvalid
from jobs_app.ids import EPOCH
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import REPAIRED, lock_one, update
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.lifecycle.slots import SlotDrafts
from jobs_app.models import Origin, ScheduleState
from jobs_app.options import Reader, read, subject_text
from jobs_app.redaction import redact
from jobs_app.registry import JobType, registry
from jobs_app.schedule_columns import CLOCK_COLUMNS, COLUMNS, TIMETABLE_COLUMNS, columns_of, first_slot
from jobs_app.schedule_options import READERS, WHENS, ScheduleOptions, optional, take
from jobs_app.sources import sources
from jobs_app.strict_json import loads

NAMES: dict[str, Reader] = {
    "subject": subject_text,
    "name": lambda given: given if given == "" else values.name(given),
}
SLOT: dict[str, Reader] = {"from_slot": optional(values.moment)}
ANY_WHEN = "every=, per_hour=, cron= or at="


def add_schedule(
    job_type: str,
    actor: Any,
    reason: str = "",
    *,
    subject: str = "",
    name: str = "",
    from_slot: datetime | None = None,
    **options: Any,
) -> Acted:
    """Let a job type come back, from the next tick on: every=, per_hour=, cron= with timezone=, or once, at=.

    Other options as in `@job`. A job type has one schedule without a name for each subject; further ones have a name.
    What came back elsewhere before goes on here with `from_slot`, which is made up for if it has passed.
    """
    act = begin("add", "add_schedulestate", actor, reason)
    known = _permitted(act, job_type)
    read({"subject": subject, "name": name}, NAMES, OptionInvalid, f"schedule of {job_type}")
    read({"from_slot": from_slot}, SLOT, OptionInvalid, f"schedule of {job_type}")
    row = ScheduleState(job_type=job_type, subject=subject, name=name, origin=Origin.ADMIN)
    said = _read(row, options).over(known.schedule)
    connection = jobs_connection()
    with write_savepoint(connection):
        now = database_now(connection)
        _require_when(row, said, now, from_slot)
        _put(row, {**columns_of(said, subject=subject), "next_run_at": _standing(said, from_slot, now)})
        row.payload = _fitting_payload(row)
        _insert(connection, row, known)
        acted = Acted(moved=[row.pk])
        given = {column: getattr(row, column) for column in _columns_besides_when(options)}
        act.record(connection, "schedule", str(row), acted, {"when": str(row.timetable), "set": redact(given)})
    return acted


def change_schedule(
    schedule: Any, actor: Any, reason: str = "", *, from_slot: datetime | None = None, **options: Any
) -> Acted:
    """Change what is given and leave the rest; None is what the job type says, or what is usual.

    What code or a source says otherwise is overridden until `restore_schedule`. Another interval counts from the slot
    that is next anyway; another cron from now; both from `from_slot` if it is given. What was switched off by failures
    is switched on again.
    """
    act = begin("change", "change_schedulestate", actor, reason)
    read({"from_slot": from_slot}, SLOT, OptionInvalid, "change")
    connection = jobs_connection()
    with write_savepoint(connection):
        row = lock_one(connection, schedule)
        known = _permitted(act, row.job_type)
        before = _change(row, known, options, database_now(connection), from_slot)
        after = {column: getattr(row, column) for column in before}
        if row.origin != Origin.ADMIN:
            row.overrides |= {column: _as_json(value) for column, value in after.items()}
        update(connection, [row], **after, next_run_at=row.next_run_at, overrides=row.overrides, **REPAIRED)
        acted = Acted(moved=[row.pk])
        moved = {} if from_slot is None else {"next_run_at": _as_json(row.next_run_at)}
        act.record(connection, "schedule", str(row), acted, {"changed": _differences(before, after), **moved})
    return acted


def _permitted(act: Act, job_type: str) -> JobType:
    known = registry.get(job_type)
    if not act.may(known.permission):
        raise PermissionDenied(f"{act.name}: {act.actor} has no permission {known.permission}.")
    return known


def _read(row: ScheduleState, options: Mapping[str, Any]) -> ScheduleOptions:
    try:
        return take(read(options, READERS, OptionInvalid, f"schedule {row}"))
    except ValueError as problem:
        raise OptionInvalid(f"schedule {row}: {problem}.") from None


def _require_when(row: ScheduleState, said: ScheduleOptions, now: datetime, from_slot: datetime | None) -> None:
    """A single moment that is past is a mistake, unless the slot to begin with is said too: then it is made up for."""
    if said.timetable is None:
        raise OptionInvalid(f"schedule {row}: when? Give {ANY_WHEN}.")
    if said.timetable.at is not None and said.timetable.at <= now and from_slot is None:
        raise OptionInvalid(f"schedule {row}: at={said.timetable.at} has passed. Give a later moment, or trigger it.")


def _standing(said: ScheduleOptions, from_slot: datetime | None, now: datetime) -> datetime | None:
    """The slot that a new schedule stands at."""
    if from_slot is None or said.timetable is None:
        return first_slot(said, now)
    return said.timetable.around(from_slot, from_slot)


def _fitting_payload(row: ScheduleState) -> dict[str, Any]:
    """The payload as it will be stored, if a tick can make jobs of it. Better to hear now than at each slot."""
    return loads(SlotDrafts().job(row, EPOCH, delay=0.0).payload)


def _insert(connection: BaseDatabaseWrapper, row: ScheduleState, known: JobType) -> None:
    is_of_code = known.schedule.timetable is not None and sources.of(known.name, "subjects") is None
    taken = OptionInvalid(f"there is a schedule {row} already. Change that one, or give this one another name=.")
    if is_of_code and not row.subject and not row.name:
        raise taken  # also before the first sync
    try:
        with transaction.atomic(using=connection.alias):
            row.save(using=connection.alias, force_insert=True)
    except IntegrityError:
        raise taken from None


def _change(
    row: ScheduleState, known: JobType, options: Mapping[str, Any], now: datetime, from_slot: datetime | None
) -> dict[str, Any]:
    """Put what was said into the row; the columns it is about, as they were before."""
    said = _read(row, _with_its_clock(row, options if from_slot and not options else _require_sayable(row, options)))
    columns = _columns_besides_when(options)
    if said.timetable is not None:
        _require_when(row, said, now, from_slot)
        columns += TIMETABLE_COLUMNS
    # None is what nobody said: the default of the job type, of the subject, of the settings.
    whole = replace(said.over(known.schedule), timetable=said.timetable or row.timetable)
    full = columns_of(whole, subject=row.subject)
    before = _put(row, {column: full[column] for column in columns})
    payload = _fitting_payload(row)
    if "payload" in before:
        row.payload = payload
    if from_slot is not None:
        row.next_run_at = row.timetable.around(from_slot, from_slot)
    elif any(before[column] != getattr(row, column) for column in CLOCK_COLUMNS & before.keys()):
        row.next_run_at = row.timetable.first(now)
    return before


def _require_sayable(row: ScheduleState, options: Mapping[str, Any]) -> Mapping[str, Any]:
    if not options:
        raise OptionInvalid(f"schedule {row}: what shall change? Known are: {', '.join(READERS)}.")
    if "phase" in options:
        raise OptionInvalid(f"schedule {row}: phase= is about the first slot of a new schedule.")
    if any(options.get(when, when) is None for when in WHENS):
        raise OptionInvalid(f"schedule {row}: it must come at some time. Give {ANY_WHEN}, or pause it.")
    return options


def _with_its_clock(row: ScheduleState, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """A cron and its zone say one thing together: the one that is not given stays."""
    given = {name for name in (*WHENS, "timezone") if name in options}
    if row.cron and given and given <= {"cron", "timezone"}:
        return {"cron": row.cron, "timezone": row.timezone, **options}
    return options


def _columns_besides_when(options: Iterable[str]) -> list[str]:
    return [COLUMNS.get(name, name) for name in options if name not in (*WHENS, "timezone", "phase")]


def _put(row: ScheduleState, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Set them; what they were."""
    before = {column: getattr(row, column) for column in columns}
    for column, value in columns.items():
        setattr(row, column, value)
    return before


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        column: {"from": _as_json(before[column]), "to": _as_json(after[column])}
        for column in after
        if before[column] != after[column]
    }
    return redact(found)
