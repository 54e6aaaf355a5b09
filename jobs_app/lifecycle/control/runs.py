"""Acts upon many runs: a chunk and a transaction at a time, its jobs locked, with an event for each chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import RunNotFound
from jobs_app.lifecycle.control.acting import Act, Acted
from jobs_app.lifecycle.database import apart, jobs_connection, pinned_transaction, while_busy
from jobs_app.lifecycle.requeue import while_places_are_taken
from jobs_app.models import Job, JobRun, State

RUNS_PER_CHUNK = 500
ENDED: dict[str, str] = {State.SUCCEEDED: "succeeded", State.FAILED: "failed", State.CANCELLED: "been cancelled"}
NOT_FOUND = "does not exist"

Step = Callable[[BaseDatabaseWrapper, Act, dict[UUID, Job], list[UUID]], Acted]


def on_runs(runs: Any, act: Act, step: Step) -> Acted:
    """Let `step` act on each chunk: the jobs that are live, locked, and the ids of the others."""
    connection = jobs_connection()
    total = Acted()
    ids = run_ids(runs)
    for first in range(0, len(ids), RUNS_PER_CHUNK):
        total.add(_on_chunk(connection, act, step, ids[first : first + RUNS_PER_CHUNK]))
    return total


def run_ids(runs: Any) -> list[UUID]:
    """Of one run or of many: ids, their text, handles or rows. Each once, in the order given."""
    many = runs if isinstance(runs, Iterable) and not isinstance(runs, str) else [runs]
    return list(dict.fromkeys(_run_id(run) for run in many))


def why_not_live(connection: BaseDatabaseWrapper, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Of runs that are not live: that they have ended, and how."""
    states = dict(JobRun.objects.using(connection.alias).filter(pk__in=ids).values_list("pk", "state"))
    return {run_id: f"has already {ENDED[states[run_id]]}" if run_id in states else NOT_FOUND for run_id in ids}


def _on_chunk(connection: BaseDatabaseWrapper, act: Act, step: Step, ids: list[UUID]) -> Acted:
    """Two that act on jobs with one key may wait for each other, or want the one place that it has in the queue: the
    one that the database stops begins anew. Behind its savepoint a host's transaction is as it was."""
    return while_places_are_taken(lambda: while_busy(connection, lambda: _once(connection, act, step, ids)))


def _once(connection: BaseDatabaseWrapper, act: Act, step: Step, ids: list[UUID]) -> Acted:
    with apart(connection), pinned_transaction(connection):
        live = _lock(connection, ids)
        acted = step(connection, act, live, [run_id for run_id in ids if run_id not in live])
        act.record(connection, *_target(ids), acted, _detail(acted, len(ids)))
    return acted


def _run_id(run: Any) -> UUID:
    given = getattr(run, "id", run)
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except (ValueError, TypeError, AttributeError):
        raise RunNotFound(f"{given!r} is not the id of a run: an id is a UUID.") from None


def _lock(connection: BaseDatabaseWrapper, ids: Sequence[UUID]) -> dict[UUID, Job]:
    """Once locked, a job neither starts nor ends. By id, as everything locks that locks several."""
    rows = Job.objects.using(connection.alias).filter(pk__in=ids).defer("payload", "meta")
    return {job.pk: job for job in rows.order_by("pk").select_for_update()}


def _target(ids: Sequence[UUID]) -> tuple[str, str]:
    return ("run", str(ids[0])) if len(ids) == 1 else ("runs", f"{len(ids)} runs")


def _detail(acted: Acted, count: int) -> dict[str, Any]:
    """Which runs, so that the event tells all there is to know."""
    detail: dict[str, Any] = {"asked": [str(run_id) for run_id in acted.asked]} if acted.asked else {}
    if acted.new_runs:
        detail["new_runs"] = {str(run_id): str(new) for run_id, new in acted.new_runs.items()}
    if count > 1:
        detail["moved"] = [str(run_id) for run_id in acted.moved]
    return detail
