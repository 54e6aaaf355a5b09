"""Live and finished runs of any kind, in one line each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from jobs_app.models import Job, JobAttempt, JobRun
from tests.lifecycle.history import id_at
from tests.lifecycle.rows import T


def ago(**lengths: float) -> datetime:
    return T - timedelta(**lengths)


def waiting(queued_at: datetime = T, **changes: Any) -> UUID:
    given = {"id": id_at(queued_at), "state": "queued", "job_type": "work", "queue": "default", "max_attempts": 5}
    return Job.objects.create(**(given | {"queued_at": queued_at, "run_at": queued_at, "payload": {}} | changes)).pk


def running(queued_at: datetime = T, **changes: Any) -> UUID:
    lease = {"lease_expires_at": T + timedelta(hours=1), "token": uuid4(), "worker_id": "worker-1", "attempts": 1}
    return waiting(queued_at, **({"state": "running", "started_at": queued_at} | lease | changes))


def ended(queued_at: datetime = T, state: str = "succeeded", *, error_class: str | None = None, **changes: Any) -> UUID:
    """It took a minute; with an error class it has the attempt that tells it."""
    given = {"id": id_at(queued_at), "state": state, "job_type": "work", "queue": "default", "max_attempts": 5}
    moments = {"run_at": queued_at, "queued_at": queued_at, "started_at": queued_at, "attempts": 1}
    end = {"finished_at": queued_at + timedelta(minutes=1), "payload": {}}
    run = JobRun.objects.create(**(given | moments | end | changes))
    if error_class is not None:
        attempt(run.pk, run.attempts, error_class)
    return run.pk


def attempt(run_id: UUID, number: int, error_class: str) -> None:
    facts = {"token": uuid4(), "outcome": "error", "success": False, "finished_at": T, "message": "no"}
    JobAttempt.objects.create(job_id=run_id, number=number, error_class=error_class, **facts)
