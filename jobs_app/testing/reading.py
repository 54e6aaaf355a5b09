"""Runs read from the database, many at once, as the handles that tests look at."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from jobs_app.handles import RunHandle
from jobs_app.insights.runs import readable
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import Run, State


def handles_of(run_ids: Iterable[UUID]) -> list[RunHandle]:
    """In the order given; what a handler has pruned meanwhile is left out."""
    wanted = list(run_ids)
    found = {run.pk: run for run in readable(jobs_connection()).filter(id__in=wanted)}
    return [RunHandle(run_id, found[run_id]) for run_id in wanted if run_id in found]


def queued_runs() -> list[Run]:
    """Everything that waits, in the order of its enqueue."""
    return list(readable(jobs_connection()).filter(state=State.QUEUED).order_by("queued_at", "id"))
