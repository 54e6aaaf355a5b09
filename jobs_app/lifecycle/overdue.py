"""When a run goes on past its timeout and the grace after it."""

from __future__ import annotations

from datetime import datetime

from jobs_app.conf import get_settings
from jobs_app.models import Job, Run, State
from jobs_app.registry import registry
from jobs_app.timeouts import timeout_for


def overdue_seconds(run: Job | Run, now: datetime) -> float | None:
    """Seconds since the deadline of a run that still goes on after the grace; None for every other."""
    timeout = timeout_of(run) if run.state == State.RUNNING else None
    if timeout is None or run.started_at is None:
        return None
    late = (now - run.started_at).total_seconds() - timeout
    return late if late >= get_settings().timeout_grace_seconds else None


def timeout_of(run: Job | Run) -> float | None:
    """Seconds that each attempt may take; None: as long as it takes, or nobody here can tell."""
    job_type = registry.find(run.job_type)
    if job_type is None:
        return run.timeout_seconds
    try:
        return timeout_for(job_type, lambda: run.payload, run.timeout_seconds, get_settings())
    except Exception:  # a callable of the host's own; its worker tells it with the run
        return None
