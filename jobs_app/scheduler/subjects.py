"""Subjects of a source become schedules, and leave with it. Set-based: a thousand rows at a time, not one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.errors import JobsError
from jobs_app.lifecycle.database import database_now, write_transaction
from jobs_app.logs import event
from jobs_app.models import ControlEvent, Origin, ScheduleState
from jobs_app.registry import JobType, registry
from jobs_app.schedule_options import ScheduleOptions
from jobs_app.scheduler.records import ACTOR
from jobs_app.scheduler.source_rows import source_rows
from jobs_app.scheduler.upsert import Name, storable, upsert
from jobs_app.sources import Source, read_row, subject_of
from jobs_app.text import clean

logger = logging.getLogger("jobs_app.scheduler")

ROWS_PER_STATEMENT = 1000

BY_OPERATOR = Q(paused=True) | ~Q(overrides={})  # what an operator said about a subject outlives its absence


@dataclass(kw_only=True)
class SubjectsSynced:
    created: int = 0
    changed: int = 0
    deleted: int = 0
    refused: list[str] = field(default_factory=list)  # rows that could not be used, and why
    is_empty: bool = False  # no row named a subject though there are schedules: none was deleted


def sync_subjects(
    connection: BaseDatabaseWrapper, source: Source, go_on: Callable[[], bool] = lambda: True
) -> SubjectsSynced:
    """Read the source once, and make the schedules of its job types those of its subjects."""
    done, seen = SubjectsSynced(), set[str]()
    types = [registry.get(name) for name in source.job_types]
    rows = source_rows(connection, source)
    while chunk := list(islice(rows, ROWS_PER_STATEMENT)):
        upserted = upsert(connection, Origin.SOURCE, _wanted(types, chunk, seen, done))
        done.created += len(upserted.created) + len(upserted.returned)
        done.changed += len(upserted.changed)
        if not go_on():
            return done  # it was not read to its end, so nobody knows who is gone
    if seen:
        for job_type in types:
            done.deleted += _delete_gone(connection, job_type.name, seen)
    else:
        done.is_empty = _of(connection, source.job_types).exists()
    return done


def tell_empty(connection: BaseDatabaseWrapper, source: Source) -> None:
    """Nothing is deleted: a registry that came back empty is more often broken than empty."""
    logger.warning(
        "job_schedule_deletion_skipped: the source %s yielded no subject; the schedules of %s stay as they are",
        source.name,
        ", ".join(source.job_types),
        extra=event("job_schedule_deletion_skipped", source=source.name, job_types=list(source.job_types)),
    )
    ControlEvent.objects.using(connection.alias).create(
        actor=ACTOR,
        action="keep_schedules",
        target_kind="source",
        target=clean(source.name, 200),
        reason="the source yielded no subject; no schedule was deleted",
        detail={"job_types": list(source.job_types)},
    )


def _wanted(
    types: Iterable[JobType], chunk: Iterable[Any], seen: set[str], done: SubjectsSynced
) -> dict[Name, ScheduleOptions]:
    wanted: dict[Name, ScheduleOptions] = {}
    for row in chunk:
        for job_type in types:
            try:
                seen.add(subject_of(row))  # before the rest is read: a slip there must cost it no schedule
                subject, options = read_row(job_type, row)
                if options.timetable is None:
                    raise ValueError(f"when? Give per_hour=, every= or cron= to @job of {job_type.name!r}, or the row")
                wanted[job_type.name, subject] = storable(job_type, options)
            except (ValueError, JobsError) as problem:
                done.refused.append(f"{row!r}: {problem}")
    return wanted


def _delete_gone(connection: BaseDatabaseWrapper, job_type: str, seen: set[str]) -> int:
    """Page by page through what is there, so that memory is flat. Rows of which an operator said something are kept,
    retired, and come back with their subject as they were."""
    deleted = 0
    for page in _pages(connection, job_type):
        gone = [subject for subject in page if subject not in seen]
        if not gone:
            continue
        rows = _of(connection, [job_type]).filter(subject__in=gone)
        with write_transaction(connection):
            list(rows.order_by("pk").values("pk").select_for_update())  # in the order in which everybody locks them
            now = database_now(connection)
            deleted += rows.filter(BY_OPERATOR, retired=False).update(retired=True, updated_at=now)
            deleted += rows.exclude(BY_OPERATOR)._raw_delete(connection.alias)
    return deleted


def _pages(connection: BaseDatabaseWrapper, job_type: str) -> Iterator[list[str]]:
    last = ""
    while True:
        rows = _of(connection, [job_type]).filter(subject__gt=last).order_by("subject")
        page = list(rows.values_list("subject", flat=True)[:ROWS_PER_STATEMENT])
        if page:
            yield page
        if len(page) < ROWS_PER_STATEMENT:
            return
        last = page[-1]


def _of(connection: BaseDatabaseWrapper, job_types: Iterable[str]) -> QuerySet[ScheduleState]:
    rows = ScheduleState.objects.using(connection.alias)
    return rows.filter(job_type__in=list(job_types), name="", origin=Origin.SOURCE)
