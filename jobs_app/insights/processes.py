"""Which workers and schedulers are there, and which have gone silent."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.models import WorkerState

ALIVE = "alive"
DRAINING = "draining"  # alive, and takes no more work
LATE = "late"  # killed, cut off, or about to come back

MOST_SHOWN = 200
BEATS_MISSED = 3  # each process says itself how often it beats: their leases may differ


def newest(connection: BaseDatabaseWrapper, *, limit: int = MOST_SHOWN) -> list[WorkerState]:
    """Those that were seen last, newest first."""
    return list(WorkerState.objects.using(connection.alias).order_by("-seen_at", "id")[:limit])


def status_of(process: WorkerState, *, now: datetime) -> str:
    if _is_late(process.seen_at, process.beat_seconds, now):
        return LATE
    return DRAINING if process.draining else ALIVE


def job_types_alive(connection: BaseDatabaseWrapper, *, now: datetime) -> set[str]:
    """Every job type that some living process knows."""
    rows = WorkerState.objects.using(connection.alias).values_list("seen_at", "beat_seconds", "job_types")
    return {name for seen_at, every, names in rows if not _is_late(seen_at, every, now) for name in names}


def _is_late(seen_at: datetime, beat_seconds: float, now: datetime) -> bool:
    return now - seen_at > timedelta(seconds=BEATS_MISSED * beat_seconds)
