"""Which maintenance windows are open, and which of them a run waits for."""

from __future__ import annotations

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.maintenance import read_windows
from jobs_app.models import Run, State
from jobs_app.windows import Deferral, Open, deferral


def open_now(connection: BaseDatabaseWrapper, now: datetime) -> list[Open]:
    """In the order in which they count."""
    spans = ((window, window.span_at(now)) for window in read_windows(connection))
    return [Open(window, span) for window, span in spans if span]


def holding(connection: BaseDatabaseWrapper, run: Run, now: datetime) -> Deferral | None:
    """What defers this run, also where no worker has met it yet; None for one that is due later anyway."""
    if run.state != State.QUEUED:
        return None
    found = deferral(read_windows(connection), run.queue, run.job_type, now)
    return found if found and run.run_at <= found.until else None
