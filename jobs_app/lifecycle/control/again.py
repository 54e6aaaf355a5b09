"""queued for later -> due now; finished -> a new run, linked to the one that it repeats. History is never rewritten."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.errors import OptionInvalid, PayloadInvalid
from jobs_app.ids import uuid7
from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.runs import NOT_FOUND, on_runs, run_ids
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.limits import NO_RULES
from jobs_app.models import Gate, Hold, Job, JobRun, State
from jobs_app.payloads import Payload, checked, named
from jobs_app.registry import JobType, gate_in, registry
from jobs_app.strict_json import dumps

RUN_AGAIN = "was run again before"


def retry(runs: Any, actor: Any, reason: str = "", payload: Payload | None = None) -> Acted:
    """Make what waits for later due now, and repeat what has ended, with `payload` where it shall have another one."""
    act = begin("retry", "retry_run", actor, reason)
    ids = run_ids(runs)
    if payload is not None and len(ids) != 1:
        raise OptionInvalid("retry: payload= is about one run. Retry these one by one, or as they were.")
    return on_runs(ids, act, partial(retry_step, payload=payload))


def retry_step(
    connection: BaseDatabaseWrapper,
    act: Act,
    live: dict[UUID, Job],
    others: list[UUID],
    *,
    payload: Payload | None = None,
    once: bool = False,
) -> Acted:
    """With `once` what was run again before is left alone, so that the same step again does nothing."""
    acted = _due_now(connection, act, live, payload)
    again = _run_again(connection, others) if once else {}
    acted.skipped |= again
    acted.add(_repeat(connection, act, [run_id for run_id in others if run_id not in again], payload))
    return acted


def _run_again(connection: BaseDatabaseWrapper, ids: list[UUID]) -> dict[UUID, str]:
    """Locked first: of two who repeat the same run, the second sees what the first did."""
    list(JobRun.objects.using(connection.alias).filter(pk__in=ids).order_by("pk").values("pk").select_for_update())
    found: dict[UUID, str] = {}
    for table in (Job, JobRun):
        rows = table.objects.using(connection.alias).filter(parent__in=ids).values_list("parent", flat=True)
        found |= dict.fromkeys((parent for parent in rows if parent), RUN_AGAIN)
    return found


def _due_now(connection: BaseDatabaseWrapper, act: Act, live: dict[UUID, Job], payload: Payload | None) -> Acted:
    now = database_now(connection)
    reasons = {job.pk: _why_not_now(act, job, now, payload) for job in live.values()}
    skipped = {run_id: why for run_id, why in reasons.items() if why}
    moved = [run_id for run_id in live if run_id not in skipped]
    # Whatever else holds it goes on to hold it.
    Job.objects.using(connection.alias).filter(pk__in=moved).update(run_at=now)
    wakeup.tell(connection, {(live[run_id].queue, live[run_id].priority) for run_id in moved})
    return Acted(moved=moved, skipped=skipped)


def _why_not_now(act: Act, job: Job, now: datetime, payload: Payload | None) -> str | None:
    job_type = registry.find(job.job_type)
    if job_type is not None and not act.may(job_type.permission):
        return f"needs the permission {job_type.permission}"
    if job.state == State.RUNNING:
        return f"runs on worker {job.worker_id}"
    if payload is not None:
        return "has not ended: only a run that has can be repeated with another payload"
    if job.run_at <= now:
        return "is due already"
    if job.gate == Gate.KEY and job.hold == Hold.LIMIT:  # it was due, and got a later date from the rate
        return "waits for the rate of its key"
    return None


def _repeat(connection: BaseDatabaseWrapper, act: Act, ids: list[UUID], payload: Payload | None) -> Acted:
    runs = JobRun.objects.using(connection.alias).in_bulk(ids)
    skipped = {run_id: NOT_FOUND for run_id in ids if run_id not in runs}
    drafts: list[NewJob] = []
    for run in runs.values():
        job_type = registry.find(run.job_type)
        if job_type is None:
            skipped[run.pk] = f"is of job type {run.job_type!r}, which is not registered"
        elif why := _why_not(act, job_type, run, payload):
            skipped[run.pk] = why
        else:
            drafts.append(_draft(act, job_type, run, payload))
    new_runs: dict[UUID, UUID] = {}
    for draft, stored in zip(drafts, enqueue(drafts), strict=True):
        assert draft.parent is not None
        if stored.created:
            new_runs[draft.parent] = stored.id
        else:
            skipped[draft.parent] = f"has a key that run {stored.id} holds"
    return Acted(moved=list(new_runs), new_runs=new_runs, skipped=skipped)


def _why_not(act: Act, job_type: JobType, run: JobRun, payload: Payload | None) -> str | None:
    if not act.may(job_type.permission):
        return f"needs the permission {job_type.permission}"
    if not job_type.is_enabled:
        return f"is of job type {job_type.name!r}, which is switched off"
    if payload is None:
        return _misfit(job_type, run.payload)
    return None


def _misfit(job_type: JobType, payload: Payload) -> str | None:
    """Code may have changed since the run was made. Values are not told: who hears of it may not see payloads."""
    try:
        job_type.schema.load(payload)
    except PayloadInvalid as problem:
        return f"has a payload that does not fit any more{_at_fault(problem)}"
    return None


def _at_fault(problem: PayloadInvalid) -> str:
    return f": {', '.join(map(str, problem.errors))}" if problem.errors else ""


def _draft(act: Act, job_type: JobType, run: JobRun, payload: Payload | None) -> NewJob:
    limit = get_settings().max_payload_bytes
    rules = get_settings().queues.get(run.queue, NO_RULES)
    return NewJob(
        id=uuid7(),
        job_type=run.job_type,
        queue=run.queue,
        subject=run.subject,
        priority=run.priority,
        policy=run.policy,
        key=run.key,
        gate=gate_in(run.queue, run.policy, rules, job_type.limits),
        max_attempts=run.max_attempts,
        timeout_seconds=run.timeout_seconds,
        payload=dumps(run.payload if payload is None else _changed(job_type, run, payload), limit=limit),
        meta=dumps(run.meta, limit=limit, what="meta"),
        actor=act.actor,
        parent=run.pk,
    )


def _changed(job_type: JobType, run: JobRun, payload: Payload) -> dict[str, Any]:
    """The same work with other values: about the same subject, under the same key."""
    stored = checked(job_type, payload)
    for option in ("subject", "key"):
        found = named(job_type, option, stored)
        # First by what is stored: an old payload that does not fit any more may not tell.
        if str(found) != getattr(run, option) and found != named(job_type, option, run.payload):
            raise PayloadInvalid(f"job {job_type.name!r}: this payload gives it another {option}. Trigger a new run.")
    return stored
