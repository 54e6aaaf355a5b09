"""Which workers and schedulers are there, and which have gone silent."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.models import WorkerState

ALIVE = "alive"
DRAINING = "draining"  # alive, and takes no more work
LATE = "late"  # three heartbeats missed: killed, cut off, or about to come back

MOST_SHOWN = 200


def late_after() -> timedelta:
    return timedelta(seconds=get_settings().lease_seconds)


def newest(connection: BaseDatabaseWrapper, *, limit: int = MOST_SHOWN) -> list[WorkerState]:
    """Those that were seen last, newest first."""
    return list(WorkerState.objects.using(connection.alias).order_by("-seen_at", "id")[:limit])


def status_of(process: WorkerState, *, now: datetime) -> str:
    if now - process.seen_at > late_after():
        return LATE
    return DRAINING if process.draining else ALIVE


def job_types_alive(connection: BaseDatabaseWrapper, *, now: datetime) -> set[str]:
    """Every job type that some living process knows."""
    alive = WorkerState.objects.using(connection.alias).filter(seen_at__gte=now - late_after())
    return {name for names in alive.values_list("job_types", flat=True) for name in names}
