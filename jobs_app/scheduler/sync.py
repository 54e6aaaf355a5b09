"""Schedules declared in code become rows. An operator's pause and overrides are never touched."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.lifecycle.database import database_now, write_transaction
from jobs_app.lifecycle.presence import job_types_alive
from jobs_app.models import Origin, ScheduleState
from jobs_app.registry import registry


class Synced(NamedTuple):
    """Job types whose schedule was new, had another interval, came back to code, or left it."""

    created: list[str]
    changed: list[str]
    returned: list[str]
    retired: list[str]


def sync_declared(connection: BaseDatabaseWrapper) -> Synced:
    """Make the rows of code say what code says. Repeating it changes nothing; so does doing it twice at once."""
    declared = declared_intervals()
    with write_transaction(connection):
        now = database_now(connection)
        rows = {row.job_type: row for row in _of_code(connection)}
        return Synced(
            created=_create(connection, {name: declared[name] for name in declared if name not in rows}, now),
            changed=_change(connection, rows, declared, now),
            returned=_mark(connection, [n for n, row in rows.items() if row.retired and n in declared], False, now),
            retired=_mark(connection, _gone(connection, rows, declared, now), True, now),
        )


def declared_intervals() -> dict[str, float]:
    """Job type -> seconds between its slots."""
    return {job_type.name: job_type.every for job_type in registry if job_type.every is not None}


def _of_code(connection: BaseDatabaseWrapper) -> QuerySet[ScheduleState]:
    return ScheduleState.objects.using(connection.alias).filter(origin=Origin.CODE, subject="", name="")


def _create(connection: BaseDatabaseWrapper, intervals: Mapping[str, float], now: datetime) -> list[str]:
    """Due at once. Another scheduler may do the same at the same time."""
    rows = [
        ScheduleState(job_type=name, origin=Origin.CODE, interval_seconds=seconds, next_run_at=now)
        for name, seconds in intervals.items()
    ]
    ScheduleState.objects.using(connection.alias).bulk_create(rows, ignore_conflicts=True)
    return list(intervals)


def _change(
    connection: BaseDatabaseWrapper, rows: Mapping[str, ScheduleState], declared: Mapping[str, float], now: datetime
) -> list[str]:
    """Another interval counts from the slot that is next anyway."""
    changed = [
        name
        for name, row in rows.items()
        if row.interval_seconds != declared.get(name, row.interval_seconds) and "interval_seconds" not in row.overrides
    ]
    for name in changed:
        _of_code(connection).filter(job_type=name).update(interval_seconds=declared[name], updated_at=now)
    return changed


def _gone(
    connection: BaseDatabaseWrapper, rows: Mapping[str, ScheduleState], declared: Mapping[str, float], now: datetime
) -> list[str]:
    """Not declared here, and not a type that only other processes know: theirs may be newer code than this."""
    missing = [name for name, row in rows.items() if name not in declared and not row.retired]
    if not missing:
        return []
    elsewhere = job_types_alive(connection, now=now)
    return [name for name in missing if name in registry or name not in elsewhere]


def _mark(connection: BaseDatabaseWrapper, names: list[str], retired: bool, now: datetime) -> list[str]:
    if names:
        _of_code(connection).filter(job_type__in=names).update(retired=retired, updated_at=now)
    return names
