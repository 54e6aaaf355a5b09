"""One handler called as a worker would call it, with nothing stored: the unit test of a job."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Unpack
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.db import transaction

from jobs_app.current import active
from jobs_app.definitions import JobDefinition
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import frozen_moment, jobs_connection
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.options import EnqueueOptions
from jobs_app.testing.naming import AnyJob, definition_of
from jobs_app.worker.flight import Flight, board
from jobs_app.worker.runner import call_handler

WORKER = "test"


def run_job(
    job: AnyJob,
    payload: Mapping[str, Any] | None = None,
    *,
    attempt: int = 1,
    cursor: str = "",
    **options: Unpack[EnqueueOptions],
) -> Any:
    """Call the handler with this payload, here and now, and give back what it returns; what it raises is raised.

    The payload is checked and converted as for an enqueue, `current_job()` works, and no row is read or written but by
    the handler itself. `attempt` says which try it is to believe in, `cursor` where the last one stopped; the options
    are those of an enqueue (`meta=`, `subject=`, `max_attempts=`, ...).
    """
    definition: JobDefinition[..., Any] = definition_of(job).options(**options)
    new, _ = definition._drafts.draft({} if payload is None else payload)
    flight = board(_claimed(new, attempt, cursor), worker=WORKER, worker_id=WORKER, lease=0.0)
    return contextvars.copy_context().run(_call, flight)


def _call(flight: Flight) -> Any:
    active.set(flight.context)
    handler = async_to_sync(_await) if flight.job_type.is_async else call_handler
    with transaction.atomic(using=jobs_connection().alias) if flight.job_type.atomic else nullcontext():
        returned = handler(flight)
    return flight.context.result_or(returned)


async def _await(flight: Flight) -> Any:
    return await call_handler(flight)


def _claimed(new: NewJob, attempt: int, cursor: str) -> ClaimedJob:
    """The row that a worker would have got for this job."""
    now = _now()
    shared = {name: getattr(new, name) for name in ClaimedJob._fields if hasattr(new, name)}
    return ClaimedJob(
        **shared
        | {
            "token": uuid4(),
            "queued_at": now,
            "run_at": new.run_at or now + timedelta(seconds=new.delay),
            "started_at": now,
            "attempts": attempt,
            "free_attempts": 0,
            "cursor": cursor,
            "progress_count": 0,
            "result_count": 0,
            "target_count": None,
        }
    )


def _now() -> datetime:
    """Where the test has put the clock, else this host's time: a unit test may be without a database."""
    return (frozen_moment() or datetime.now(UTC)).astimezone(UTC)
