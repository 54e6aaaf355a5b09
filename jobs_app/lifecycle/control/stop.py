"""queued -> cancelled at once; a running job is asked to stop, and hears of it with the next heartbeat."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.runs import on_runs, why_not_live
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.models import Job, State


def cancel(runs: Any, actor: Any, reason: str = "") -> Acted:
    """End what waits; ask what runs to stop."""
    return on_runs(runs, begin("cancel", "cancel_run", actor, reason), cancel_step)


def abort(runs: Any, actor: Any, reason: str = "") -> Acted:
    """The same, but what runs is stopped by force where its job type lets it."""
    return on_runs(runs, begin("abort", "abort_run", actor, reason), abort_step)


def cancel_step(connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], others: list[UUID]) -> Acted:
    asked = [job.pk for job in live.values() if job.state == State.RUNNING and not job.cancel_requested]
    _jobs(connection, asked).update(cancel_requested=True)
    return _stopped(connection, act, live, asked, others)


def abort_step(connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], others: list[UUID]) -> Acted:
    asked = [job.pk for job in live.values() if job.state == State.RUNNING and not job.abort_requested]
    _jobs(connection, asked).update(cancel_requested=True, abort_requested=True)
    return _stopped(connection, act, live, asked, others)


def _stopped(
    connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], asked: list[UUID], others: list[UUID]
) -> Acted:
    waiting = [
        Ended(id=job.pk, token=None, state="cancelled", outcome="", done_reason="cancelled", error=act.reason)
        for job in live.values()
        if job.state == State.QUEUED
    ]
    moved = remove(connection, waiting, WAITING) | set(asked)
    told_before = {run_id: "was asked to stop before" for run_id in live if run_id not in moved}
    return Acted(moved=sorted(moved), asked=asked, skipped=told_before | why_not_live(connection, others))


def _jobs(connection: BaseDatabaseWrapper, ids: list[UUID]) -> Any:
    return Job.objects.using(connection.alias).filter(pk__in=ids)
