"""Which schedules are due, and when the next one will be."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import DataError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from jobs_app.lifecycle.maintenance import held_types
from jobs_app.logs import event
from jobs_app.models import Job, ScheduleState
from jobs_app.registry import registry
from jobs_app.runtime.enabled import is_enabled

logger = logging.getLogger("jobs_app.scheduler")

_held: set[str] = set()  # job types whose schedules were held when last asked

# Had no turn since it came due. One that had, and is due still, is behind by more than a turn may make, or failed.
FRESH = Q(failures=0) & (Q(last_run_at=None) | Q(next_run_at__gt=F("last_run_at")))


@dataclass(frozen=True, kw_only=True)
class Due:
    """What is asked for: schedules of these job types that are due now.

    A schedule that had its turn and is due still rests before the next one, whichever scheduler ticks then.
    """

    job_types: Sequence[str]
    now: datetime
    rest: float = 0  # seconds
    is_later: bool = False  # in the middle of a tick: what had its turn in it and is due still waits for the next tick
    only: int | None = None  # this one schedule


def ticking_types(connection: BaseDatabaseWrapper, now: datetime) -> list[str]:
    """Job types that this process makes jobs for now. Schedules of types it does not know are for others; those that a
    maintenance window holds keep their slots."""
    held = held_types(connection, now)
    _say_held(held)
    return [job_type.name for job_type in registry if job_type.name not in held and is_enabled(job_type)]


def take_due(
    connection: BaseDatabaseWrapper, due: Due, *, after: ScheduleState | None, limit: int
) -> list[ScheduleState]:
    """Lock the schedules that are longest due, but for those that another scheduler has in hand.

    `after` is the last one of the batch before: a row that failed stays due, and must not hide the ones behind it.
    """
    rows = _due(connection, due, after)
    return list(rows.select_for_update(skip_locked=True, no_key=True)[:limit])


def due_ids(connection: BaseDatabaseWrapper, due: Due, *, after: ScheduleState | None, limit: int) -> list[int]:
    """The same ones, whatever is in their other columns. They are not locked."""
    return list(_due(connection, due, after).values_list("pk", flat=True)[:limit])


def next_due(connection: BaseDatabaseWrapper, job_types: Sequence[str]) -> datetime | None:
    """The first slot that had no turn yet. One that cannot be read is due: its turn deals with it."""
    rows = _ticking(connection, job_types).filter(FRESH, next_run_at__isnull=False)
    try:
        return rows.order_by("next_run_at", "pk").values_list("next_run_at", flat=True).first()
    except (DataError, ValueError):
        return datetime.min.replace(tzinfo=UTC)


def live_states(connection: BaseDatabaseWrapper, schedules: Sequence[int]) -> dict[int, set[str]]:
    """Of each schedule that has jobs which wait or run, in which states they are."""
    found: dict[int, set[str]] = {}
    if schedules:
        jobs = Job.objects.using(connection.alias).filter(schedule__in=schedules)
        for schedule, state in jobs.order_by().values_list("schedule", "state").distinct():
            assert schedule is not None
            found.setdefault(schedule, set()).add(state)
    return found


def _say_held(held: Mapping[str, datetime]) -> None:
    """When it changes: this is asked each second."""
    global _held
    if held.keys() != _held:
        if held:
            until = max(held.values()).isoformat()
            facts = event("maintenance_window_active", until=until, job_types=sorted(held))
            text = "maintenance_window_active: no slots until %s for %s"
            logger.info(text, until, ", ".join(sorted(held)), extra=facts)
        _held = set(held)


def _due(connection: BaseDatabaseWrapper, due: Due, after: ScheduleState | None) -> QuerySet[ScheduleState]:
    rows = _ticking(connection, due.job_types).filter(next_run_at__lte=due.now)
    if due.only is not None:
        rows = rows.filter(pk=due.only)
    if due.rest:
        rows = rows.filter(FRESH | Q(updated_at__lte=due.now - timedelta(seconds=due.rest)))
    elif due.is_later:
        rows = rows.filter(FRESH | ~Q(updated_at=due.now))
    if after is not None:
        rows = rows.filter(
            Q(next_run_at__gt=after.next_run_at) | Q(next_run_at=after.next_run_at, pk__gt=after.pk),
            next_run_at__gte=after.next_run_at,  # said again for the index, which an OR alone would not use
        )
    return rows.order_by("next_run_at", "pk")


def _ticking(connection: BaseDatabaseWrapper, job_types: Sequence[str]) -> QuerySet[ScheduleState]:
    # Not the plain column: without statistics, which it has where somebody said ANALYZE, SQLite would go through all
    # schedules of these types by the index of their names, and sort them.
    rows = ScheduleState.objects.using(connection.alias).alias(of_type=Coalesce("job_type", Value("")))
    return rows.filter(paused=False, retired=False, disabled=False, of_type__in=job_types)
