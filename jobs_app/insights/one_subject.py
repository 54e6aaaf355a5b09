"""One subject: what waits and runs for it now, its schedules, its last runs, and whether it can ever catch up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.runs import status_of
from jobs_app.insights.subjects import MOST_LIVE, is_live_capped
from jobs_app.lifecycle.database import pinned_reading
from jobs_app.models import Job, JobRun, State

LIVE_SHOWN = 50
RUNS_SHOWN = 20

# Cut before it is compared: jobs have no index by subject, since each enqueue would pay for it.
WAITING = """
SELECT id, state, job_type, queue, attempts, run_at, queued_at, hold, count(*) OVER () AS found
  FROM (SELECT * FROM jobs_app_job WHERE state = 'queued' LIMIT %s) AS live
 WHERE subject = %s ORDER BY run_at, id LIMIT %s
"""
RUN_COLUMNS = ("id", "state", "job_type", "queued_at", "started_at", "finished_at", "attempts", "error")


@dataclass(frozen=True, kw_only=True)
class LiveWork:
    running: list[Job]
    waiting: list[Job]  # those due first
    waiting_count: int
    is_capped: bool  # more jobs are live than were looked at: there may be more that wait


def live(connection: BaseDatabaseWrapper, subject: str, now: datetime, *, limit: int = LIVE_SHOWN) -> LiveWork:
    """What is still to be done for it, each with its `status`."""
    jobs = Job.objects.using(connection.alias)
    running = jobs.filter(state=State.RUNNING, subject=subject).defer("payload", "meta").order_by("started_at", "id")
    waiting: list[Any] = list(jobs.raw(WAITING, [MOST_LIVE, subject, limit]))
    found = LiveWork(
        running=list(running[:limit]),
        waiting=waiting,
        waiting_count=waiting[0].found if waiting else 0,
        is_capped=is_live_capped(connection),
    )
    for job in (*found.running, *found.waiting):
        job.status = status_of(  # type: ignore[attr-defined]
            state=job.state, attempts=job.attempts, run_at=job.run_at, now=now
        )
    return found


def last_runs(connection: BaseDatabaseWrapper, subject: str, *, limit: int = RUNS_SHOWN) -> list[JobRun]:
    """Those that ended, the newest first, by the index that has the subject."""
    rows = JobRun.objects.using(connection.alias).filter(subject=subject).order_by("-queued_at", "-id")
    with pinned_reading(connection):
        return list(rows.only(*RUN_COLUMNS)[:limit])
