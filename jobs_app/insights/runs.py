"""One run: where it is, and in which words that is told."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.errors import RunNotFound
from jobs_app.lifecycle.database import jobs_connection, now_expression
from jobs_app.models import LIVE, Run, State
from jobs_app.registry import registry

SCHEDULED = "scheduled"  # queued, due later, never tried
RETRYING = "retrying"  # queued, tried before


def get(run_id: UUID | str) -> Run:
    """The run with this id, live or finished."""
    try:
        wanted = run_id if isinstance(run_id, UUID) else UUID(run_id)
    except (ValueError, TypeError, AttributeError):
        raise RunNotFound(f"{run_id!r} is not the id of a run: an id is a UUID.") from None
    found = list(readable(jobs_connection()).filter(pk=wanted))
    if not found:
        raise RunNotFound(f"no run has the id {wanted}: never enqueued, rolled back, or pruned by retention.")
    # Two where a slot that has ended was made anew: the live one is the one that somebody can do something about.
    return min(found, key=lambda run: run.state not in LIVE)


def readable(connection: BaseDatabaseWrapper) -> QuerySet[Run]:
    """All runs, each with `read_at`: the time of reading, by the clock that decides.

    Where runs are written, not a replica: a run can be read as soon as it is enqueued.
    """
    return Run.objects.using(connection.alias).annotate(read_at=now_expression(connection))


def status_of(*, state: str, attempts: int, run_at: datetime, now: datetime) -> str:
    """The stored state, or the finer word that people use for a queued run."""
    if state != State.QUEUED:
        return str(state)
    if attempts > 0:
        return RETRYING
    return SCHEDULED if run_at > now else str(State.QUEUED)


def label_of(job_type: str, status: str) -> str:
    """The word that the job type's preset has for a status; the status itself where it has none."""
    known = registry.find(job_type)
    return status if known is None or known.preset is None else known.preset.label(status)


def reached(run: Any) -> int:
    """How many of its target: where a job type has one, what counts is new results and not all that was sent."""
    known = registry.find(run.job_type)
    return run.progress_count if known is None or known.target is None else run.result_count
