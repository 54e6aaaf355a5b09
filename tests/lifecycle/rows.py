"""Jobs made, claimed and ended in one line each, and the tables as plain values to compare."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from jobs_app.ids import uuid7
from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.enqueue import NewJob, enqueue
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.lanes import Start, find_lanes
from jobs_app.lifecycle.moves import Ended
from jobs_app.models import Job, JobAttempt, JobRun

T = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> AbstractContextManager[None]:
    """The database's clock stands `seconds` after T."""
    return frozen_clock(T + timedelta(seconds=seconds))


def new_job(**changes: Any) -> NewJob:
    given = {"id": uuid7(), "job_type": "work", "queue": "default", "priority": 0, "max_attempts": 5, "payload": "{}"}
    return NewJob(**(given | changes))


def stored(count: int = 1, **changes: Any) -> list[UUID]:
    return [job.id for job in enqueue([new_job(**changes) for _ in range(count)])]


def all_lanes() -> list[Start]:
    return sorted((Start(*lane) for lane in find_lanes(connection)), key=lambda start: -start.priority)


def take(limit: int = 10, starts: list[Start] | None = None, **changes: Any) -> list[ClaimedJob]:
    """Claim from every lane, as a worker does."""
    given = {
        "worker_id": "worker-1",
        "token": uuid4(),
        "job_types": ["work"],
        "limit": limit,
        "lease": 30.0,
        "leases": {},
    }
    return claim(connection, Claim(**(given | changes)), all_lanes() if starts is None else starts)


def taken_ids(limit: int = 10, **changes: Any) -> list[UUID]:
    return [job.id for job in take(limit, **changes)]


def one_running(**changes: Any) -> ClaimedJob:
    stored(**changes)
    [job] = take(1, job_types=[changes.get("job_type", "work")])
    return job


def ended(job: ClaimedJob, state: str = "succeeded", **changes: Any) -> Ended:
    outcome = {"succeeded": "success", "failed": "error", "queued": "error", "cancelled": "cancelled"}[state]
    given = {"id": job.id, "token": job.token, "state": state, "outcome": outcome}
    return Ended(**(given | changes))


def done(job: ClaimedJob, state: str = "succeeded", **changes: Any) -> bool:
    """Report; whether the report was accepted."""
    return job.id in finish(connection, [ended(job, state, **changes)])


def attempts_of(run_id: UUID) -> list[JobAttempt]:
    return list(JobAttempt.objects.filter(job_id=run_id).order_by("number"))


def outcomes_of(run_id: UUID) -> list[str]:
    return [attempt.outcome for attempt in attempts_of(run_id)]


def tables() -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that a move may touch."""
    return {
        "jobs": list(Job.objects.order_by("id").values()),
        "runs": list(JobRun.objects.order_by("id").values()),
        "attempts": list(JobAttempt.objects.order_by("job_id", "number").values()),
    }
