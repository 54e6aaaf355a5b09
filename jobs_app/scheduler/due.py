"""Which schedules are due, and when the next one will be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.models import ScheduleState
from jobs_app.registry import registry
from jobs_app.runtime.enabled import is_enabled


def ticking_types() -> list[str]:
    """Job types that this process makes jobs for. Schedules of types it does not know are for others."""
    return [job_type.name for job_type in registry if is_enabled(job_type)]


def take_due(
    connection: BaseDatabaseWrapper, job_types: Sequence[str], *, now: datetime, after: ScheduleState | None, limit: int
) -> list[ScheduleState]:
    """Lock the schedules that are longest due, but for those that another scheduler has in hand.

    `after` is the last one of the batch before: a row that failed stays due, and must not hide the ones behind it.
    """
    rows = _ticking(connection, job_types).filter(next_run_at__lte=now)
    if after is not None:
        rows = rows.filter(
            Q(next_run_at__gt=after.next_run_at) | Q(next_run_at=after.next_run_at, pk__gt=after.pk),
            next_run_at__gte=after.next_run_at,  # said again for the index, which an OR alone would not use
        )
    return list(rows.order_by("next_run_at", "pk").select_for_update(skip_locked=True, no_key=True)[:limit])


def next_due(connection: BaseDatabaseWrapper, job_types: Sequence[str], *, after: datetime) -> datetime | None:
    """The first slot that a tick at `after` left.

    One that was due then is in another scheduler's hands, or failed: that is tried again whenever there is a tick, and
    is no reason for one.
    """
    rows = _ticking(connection, job_types).filter(Q(next_run_at__gt=after) | Q(failures=0), next_run_at__isnull=False)
    return rows.order_by("next_run_at").values_list("next_run_at", flat=True).first()


def _ticking(connection: BaseDatabaseWrapper, job_types: Sequence[str]) -> QuerySet[ScheduleState]:
    rows = ScheduleState.objects.using(connection.alias)
    return rows.filter(paused=False, retired=False, interval_seconds__isnull=False, job_type__in=job_types)
