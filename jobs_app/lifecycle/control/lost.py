"""What people decide where a worker is gone: its job waits again, or is marked failed, as one that waits may be."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import requeue as requeuing
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.runs import on_runs, why_not_live
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.moves import HELD, WAITING, Ended, remove
from jobs_app.lifecycle.presence import is_late
from jobs_app.models import Job, State, WorkerState
from jobs_app.registry import registry


def fail(runs: Any, actor: Any, reason: str = "", *, force: bool = False) -> Acted:
    """End as failed what waits, and what runs on a worker that is gone; with `force` also under the hands of one.

    Its report is then refused, as of a job that it lost.
    """
    return on_runs(runs, begin("fail", "fail_run", actor, reason), partial(fail_step, force=force))


def requeue(runs: Any, actor: Any, reason: str = "") -> Acted:
    """Let what ran on a worker that is gone wait again, without waiting for its lease to end."""
    return on_runs(runs, begin("requeue", "reconcile_runs", actor, reason), requeue_step)


def fail_step(
    connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], others: list[UUID], *, force: bool = False
) -> Acted:
    running = [job for job in live.values() if job.state == State.RUNNING]
    held = {} if force else _held(connection, running, "abort it, or mark it failed by force")
    error = act.reason or "marked as failed"
    waiting = [_failed(job, error, "") for job in live.values() if job.state == State.QUEUED]
    lost = [_failed(job, error, "lost") for job in running if job.pk not in held]
    moved = remove(connection, waiting, WAITING) | remove(connection, lost, HELD)
    return Acted(moved=sorted(moved), skipped=held | why_not_live(connection, others))


def requeue_step(connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], others: list[UUID]) -> Acted:
    skipped = {job.pk: "is queued" for job in live.values() if job.state == State.QUEUED}
    skipped |= _not_permitted(act, live.values())
    running = [job for job in live.values() if job.state == State.RUNNING]
    skipped |= {job.pk: "has no attempts left: mark it failed" for job in running if _is_spent(job)}
    skipped |= _held(connection, running, "abort it, and retry it when it has ended")
    error = act.reason or "queued again by hand"
    lost = [_waiting(job, error) for job in running if job.pk not in skipped]
    moved = requeuing.requeue(connection, lost, HELD)
    return Acted(moved=sorted(moved), skipped=skipped | why_not_live(connection, others))


def _not_permitted(act: Act, jobs: Iterable[Job]) -> dict[UUID, str]:
    """Who lets a job run once more needs the permission that its type asks for, as who triggers it does."""
    types = {job.pk: registry.find(job.job_type) for job in jobs}
    needed = {run_id: known.permission for run_id, known in types.items() if known is not None}
    return {run_id: f"needs the permission {name}" for run_id, name in needed.items() if not act.may(name)}


def _held(connection: BaseDatabaseWrapper, running: Iterable[Job], advice: str) -> dict[UUID, str]:
    """Those that are in good hands, and in whose."""
    jobs = list(running)
    now = database_now(connection)
    alive = _alive(connection, {job.worker_id for job in jobs}, now)
    return {
        job.pk: f"runs on worker {job.worker_id}, which is alive: {advice}"
        for job in jobs
        if job.worker_id in alive and job.lease_expires_at is not None and job.lease_expires_at >= now
    }


def _alive(connection: BaseDatabaseWrapper, workers: set[str], now: datetime) -> set[str]:
    rows = WorkerState.objects.using(connection.alias).filter(pk__in=workers)
    seen = rows.values_list("pk", "seen_at", "beat_seconds")
    return {worker for worker, at, beat in seen if not is_late(at, beat, now)}


def _is_spent(job: Job) -> bool:
    return job.attempts - job.free_attempts >= job.max_attempts


def _failed(job: Job, error: str, outcome: str) -> Ended:
    return Ended(
        id=job.pk,
        token=job.token,
        state="failed",
        outcome=outcome,
        done_reason="marked_failed",
        error_class="MarkedFailed" if outcome else "",
        error=error,
    )


def _waiting(job: Job, error: str) -> Ended:
    """As after an expired lease: the attempt counts, and its own report is welcome until the next claim."""
    return Ended(
        id=job.pk,
        token=job.token,
        state="queued",
        outcome="lost",
        error_class="Requeued",
        error=f"{error} (was on {job.worker_id})",
        keep_token=True,
        policy=job.policy,
    )
