"""Schedules declared in code become rows; those of job types and sources that are gone from code are retired."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import PayloadInvalid
from jobs_app.lifecycle.database import database_now, write_transaction
from jobs_app.lifecycle.loose_scans import each_value
from jobs_app.lifecycle.presence import job_types_alive
from jobs_app.models import Origin, ScheduleState
from jobs_app.registry import registry
from jobs_app.schedule_options import ScheduleOptions
from jobs_app.scheduler.upsert import storable, upsert
from jobs_app.sources import sources

TABLE = "jobs_app_schedulestate"


class Synced(NamedTuple):
    """Job types whose schedule was new, said something else, came back to code, or left it."""

    created: list[str]
    changed: list[str]
    returned: list[str]
    retired: list[str]


def sync_declared(connection: BaseDatabaseWrapper) -> Synced:
    """Make the rows of code say what code says. Repeating it changes nothing; so does doing it twice at once."""
    wanted = {(name, ""): _storable(name, options) for name, options in declared().items()}
    done = upsert(connection, Origin.CODE, wanted)
    gone, back = _gone_and_back(connection)
    return Synced(
        created=[name for name, _ in done.created],
        changed=[name for name, _ in done.changed],
        returned=sorted({name for name, _ in done.returned} | back),
        retired=sorted(gone),
    )


def declared() -> dict[str, ScheduleOptions]:
    """Job types that come back by themselves, but for those that do so for each subject of a source."""
    return {
        job_type.name: job_type.schedule
        for job_type in registry
        if job_type.schedule.timetable is not None and sources.of(job_type.name, "subjects") is None
    }


def _storable(name: str, options: ScheduleOptions) -> ScheduleOptions:
    """One whose payload does not fit has a row all the same: its slots fail, and the row shows why."""
    try:
        return storable(registry.get(name), options)
    except PayloadInvalid:
        return replace(options, payload={})


def _gone_and_back(connection: BaseDatabaseWrapper) -> tuple[set[str], set[str]]:
    """Retire the rows of what code has no longer, and bring back an operator's rows of types that it has again.

    Rows of code and of sources come back when they are made sure of.
    """
    now = database_now(connection)
    elsewhere = job_types_alive(connection, now=now)
    gone, back = set(), set()
    for job_type in _known_to_rows(connection):
        for origin in Origin.values:
            if _is_gone(job_type, origin, elsewhere):
                gone |= _mark(connection, job_type, origin, retired=True, now=now)
        if job_type in registry:
            back |= _mark(connection, job_type, Origin.ADMIN, retired=False, now=now)
    return gone, back


def _is_gone(job_type: str, origin: str, elsewhere: set[str]) -> bool:
    """Not a type that only other processes know: theirs may be newer code than this."""
    if job_type not in registry:
        return job_type not in elsewhere
    if origin == Origin.CODE:
        return job_type not in declared()
    return origin == Origin.SOURCE and sources.of(job_type, "subjects") is None


def _known_to_rows(connection: BaseDatabaseWrapper) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(each_value("job_type", "true", table=TABLE))
        return [job_type for (job_type,) in cursor.fetchall()]


def _mark(connection: BaseDatabaseWrapper, job_type: str, origin: str, *, retired: bool, now: datetime) -> set[str]:
    rows = ScheduleState.objects.using(connection.alias).filter(job_type=job_type, origin=origin, retired=not retired)
    if origin == Origin.CODE:
        rows = rows.filter(subject="", name="")  # the only one there is, found at once beside a million of a source
    with write_transaction(connection):
        return {job_type} if rows.update(retired=retired, updated_at=now) else set()
