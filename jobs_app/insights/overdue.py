"""Runs that go on past their timeout: a thread cannot be stopped, so that somebody should know of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, Run, State
from jobs_app.registry import registry
from jobs_app.timeouts import timeout_for

MOST_RUNNING = 1000  # rows looked at, those that run for longest


class Overdue(NamedTuple):
    job: Job
    seconds: float  # since its deadline


def overdue(connection: BaseDatabaseWrapper, *, limit: int = MOST_RUNNING) -> list[Overdue]:
    """What still runs though its timeout and the grace after it are over; the longest run comes first."""
    now = database_now(connection)
    running = Job.objects.using(connection.alias).filter(state=State.RUNNING).order_by("started_at", "id")
    running = running.defer("payload", "meta")[:limit]  # large, and few timeouts depend on a payload
    found = ((job, overdue_seconds(job, now)) for job in running)
    return [Overdue(job, seconds) for job, seconds in found if seconds is not None]


def overdue_seconds(run: Job | Run, now: datetime) -> float | None:
    """Seconds since the deadline of a run that still goes on after the grace; None for every other."""
    timeout = _timeout(run) if run.state == State.RUNNING else None
    if timeout is None or run.started_at is None:
        return None
    late = (now - run.started_at).total_seconds() - timeout
    return late if late >= get_settings().timeout_grace_seconds else None


def _timeout(run: Job | Run) -> float | None:
    job_type = registry.find(run.job_type)
    if job_type is None:
        return run.timeout_seconds
    try:
        return timeout_for(job_type, lambda: run.payload, run.timeout_seconds, get_settings())
    except Exception:  # a callable of the host's own; its worker tells it with the run
        return None
