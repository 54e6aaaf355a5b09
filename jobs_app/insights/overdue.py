"""Runs that go on past their timeout: a thread cannot be stopped, so that somebody should know of it."""

from __future__ import annotations

from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.overdue import overdue_seconds
from jobs_app.models import Job, State

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
