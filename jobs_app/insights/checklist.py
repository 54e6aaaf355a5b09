"""The first steps with the app, each ticked by what is there: what a dashboard shows while it has nothing to show."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.models import Job, JobRun
from jobs_app.registry import SYSTEM_QUEUE, registry


@dataclass(frozen=True, kw_only=True)
class Checklist:
    """What has been done. Who works is told by the processes."""

    has_job_type: bool
    has_run: bool

    @property
    def is_done(self) -> bool:
        return self.has_job_type and self.has_run


def read(connection: BaseDatabaseWrapper) -> Checklist:
    """At most a few steps into an index: chores are passed, and of a history of nothing else there is a day at most."""
    own = [job_type.name for job_type in registry if job_type.queue == SYSTEM_QUEUE]
    return Checklist(has_job_type=len(registry.names()) > len(own), has_run=_has_run(connection))


def _has_run(connection: BaseDatabaseWrapper) -> bool:
    others = [table.objects.using(connection.alias).exclude(queue=SYSTEM_QUEUE) for table in (Job, JobRun)]
    return any(rows.exists() for rows in others)
