"""Rows of schedules come to say what code and sources say. An operator's pause and overrides are never touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import database_now, is_postgres, write_transaction
from jobs_app.lifecycle.relation import relation
from jobs_app.models import ScheduleState
from jobs_app.payloads import checked
from jobs_app.registry import JobType
from jobs_app.schedule_columns import CLOCK_COLUMNS, TIMETABLE_COLUMNS, columns_of, first_slot
from jobs_app.schedule_options import ScheduleOptions
from jobs_app.strict_json import dumps, loads
from jobs_app.timetable import Timetable

Name: TypeAlias = tuple[str, str]  # job type, subject
Wanted: TypeAlias = Mapping[Name, ScheduleOptions]

KINDS = {
    "id": "int",
    "interval_seconds": "float",
    "cron": "text",
    "timezone": "text",
    "once_at": "time",
    "payload": "json",
    "catch_up": "text",
    "catch_up_max": "int",
    "catch_up_window_seconds": "float",
    "spread_seconds": "float",
    "jitter_seconds": "float",
    "overlap": "text",
    "next_run_at": "time",
    "retired": "bool",
    "updated_at": "time",
}
CHANGE = f"""
UPDATE jobs_app_schedulestate AS schedule
   SET {", ".join(f"{name} = new.{name}" for name in KINDS if name != "id")}
  FROM ({{rows}}) AS new WHERE schedule.id = new.id
"""
SIDE_BY_SIDE = timedelta(hours=1)  # as long as a deploy may take

NEW_KINDS = {"job_type": "text", "subject": "text", "origin": "text"} | {n: k for n, k in KINDS.items() if n != "id"}
# By hand, because the ORM would send a thousand rows as 25,000 parameters, and on SQLite as 26 statements.
INSERT = f"""
INSERT INTO jobs_app_schedulestate
       ({", ".join(NEW_KINDS)}, name, paused, overrides, failures, last_error, created_at)
SELECT {", ".join(NEW_KINDS)}, '', false, {{no_overrides}}, 0, '', updated_at FROM ({{rows}}) AS new WHERE true
ON CONFLICT DO NOTHING
"""


class Upserted(NamedTuple):
    """What was new, said something else, or came back."""

    created: list[Name]
    changed: list[Name]
    returned: list[Name]


def upsert(connection: BaseDatabaseWrapper, origin: str, wanted: Wanted) -> Upserted:
    """Make these rows and change those that differ, a few statements for all of them. Doing it twice at once is fine;
    a row that somebody else made under the name stays as it is."""
    done = Upserted([], [], [])
    if not wanted:
        return done
    with write_transaction(connection):
        now = database_now(connection)
        found = _existing(connection, wanted)
        done.created.extend(name for name in wanted if name not in found)
        _insert(connection, [_new(name, origin, wanted[name], now) for name in done.created])
        differing = [row for name, row in found.items() if row.origin == origin and _differing(row, wanted[name])]
        # Read again under their locks: somebody may have given one an override, or a turn, since.
        locked = {(row.job_type, row.subject): row for row in _lock(connection, differing)}
        done.changed.extend(name for name, row in locked.items() if not row.retired)
        done.returned.extend(name for name, row in locked.items() if row.retired)
        _write(connection, [_columns(row, wanted[name], now) for name, row in locked.items()])
    return done


def storable(job_type: JobType, options: ScheduleOptions) -> ScheduleOptions:
    """With the payload as its row gives it back: code and sources may say it in types that JSON does not have.
    PayloadInvalid if it does not fit."""
    return replace(options, payload=loads(_json(checked(job_type, options.payload or {}))))


def _existing(connection: BaseDatabaseWrapper, wanted: Wanted) -> dict[Name, ScheduleState]:
    rows = ScheduleState.objects.using(connection.alias).filter(
        name="",
        job_type__in={job_type for job_type, _ in wanted},
        subject__in={subject for _, subject in wanted},
    )
    return {(row.job_type, row.subject): row for row in rows if (row.job_type, row.subject) in wanted}


def _new(name: Name, origin: str, options: ScheduleOptions, now: datetime) -> list[Any]:
    job_type, subject = name
    said = {**columns_of(options, subject=subject), "job_type": job_type, "subject": subject, "origin": str(origin)}
    said["payload"] = _json(said["payload"])
    said |= {"next_run_at": first_slot(options, now), "retired": False, "updated_at": now}
    return [said[name] for name in NEW_KINDS]


def _insert(connection: BaseDatabaseWrapper, new: Sequence[Sequence[Any]]) -> None:
    if new:
        rows, parameters = relation(connection, NEW_KINDS, new)
        no_overrides = "'{}'::jsonb" if is_postgres(connection) else "'{}'"
        with connection.cursor() as cursor:
            cursor.execute(INSERT.format(rows=rows, no_overrides=no_overrides), parameters)


def _lock(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> list[ScheduleState]:
    ids = [row.pk for row in rows]
    locked = ScheduleState.objects.using(connection.alias).filter(pk__in=ids).order_by("pk")
    return list(locked.select_for_update(no_key=True)) if ids else []


def _said(row: ScheduleState, options: ScheduleOptions) -> dict[str, Any]:
    """What the row should say: the code's or the source's word, but for what an operator has overridden."""
    columns = {**columns_of(options, subject=row.subject), "retired": False}
    kept = set(row.overrides) if isinstance(row.overrides, dict) else set()  # somebody may have written anything
    if kept & set(TIMETABLE_COLUMNS):  # they say one thing together
        kept |= set(TIMETABLE_COLUMNS)
    return columns | {name: getattr(row, name) for name in columns if name in kept}


def _differing(row: ScheduleState, options: ScheduleOptions) -> set[str]:
    return {name for name, value in _said(row, options).items() if getattr(row, name) != value}


def _columns(row: ScheduleState, options: ScheduleOptions, now: datetime) -> list[Any]:
    said = _said(row, options)
    next_run_at = row.next_run_at
    if _is_back_after_long(row, now) or CLOCK_COLUMNS & _differing(row, options):
        next_run_at = first_slot(replace(options, timetable=_timetable(said)), now)
    said["payload"] = _json(said["payload"])
    said |= {"id": row.pk, "next_run_at": next_run_at, "updated_at": now}
    return [said[name] for name in KINDS]


def _timetable(said: Mapping[str, Any]) -> Timetable:
    """Of the row as it will be: an operator may have given it another one than its code or source has."""
    when = {name: said[name] for name in TIMETABLE_COLUMNS}
    return ScheduleState(**when).timetable


def _is_back_after_long(row: ScheduleState, now: datetime) -> bool:
    """Else it goes on where it stands: while old and new code run side by side, one retires what the other brings
    back, and no slot must be lost or made up for it."""
    return row.retired and now - row.updated_at > SIDE_BY_SIDE


def _write(connection: BaseDatabaseWrapper, changes: Sequence[Sequence[Any]]) -> None:
    if changes:
        rows, parameters = relation(connection, KINDS, changes)
        with connection.cursor() as cursor:
            cursor.execute(CHANGE.format(rows=rows), parameters)


def _json(payload: Mapping[str, Any]) -> str:
    return dumps(payload, limit=get_settings().max_payload_bytes)
