"""Which workers and schedulers are there, and which have gone silent."""

from __future__ import annotations

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.presence import is_late
from jobs_app.models import WorkerState

ALIVE = "alive"
DRAINING = "draining"  # alive, and takes no more work
LATE = "late"  # killed, cut off, or about to come back

MOST_SHOWN = 200


def newest(connection: BaseDatabaseWrapper, *, limit: int = MOST_SHOWN) -> list[WorkerState]:
    """Those that were seen last, newest first."""
    return list(WorkerState.objects.using(connection.alias).order_by("-seen_at", "id")[:limit])


def status_of(process: WorkerState, *, now: datetime) -> str:
    if is_late(process.seen_at, process.beat_seconds, now):
        return LATE
    return DRAINING if process.draining else ALIVE
