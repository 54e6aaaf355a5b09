"""Remote workers: pull a job, report on it, leave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router

from jobs_app.api.access import Bearer, Caller, caller_of
from jobs_app.api.answers import answers
from jobs_app.api.departures import Departed, require_presence
from jobs_app.api.problems import Problem
from jobs_app.api.shapes import LONGEST_NAME
from jobs_app.api.worker_shapes import (
    JobOut,
    LeaveBody,
    Ok,
    PullBody,
    PullFields,
    PullOut,
    PullQuery,
    ReportBody,
    ReportOut,
)
from jobs_app.errors import OptionInvalid, UnknownJobType
from jobs_app.lifecycle import presence
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.options import did_you_mean
from jobs_app.registry import registry
from jobs_app.remote.desks import Choice
from jobs_app.remote.pulling import Handed, Pull, pull
from jobs_app.remote.reporting import Told, report

router = Router(tags=["remote workers"])


@router.get("/pull_job", auth=Bearer("pull"), response=answers(PullOut, 404), operation_id="pull_job")
def pull_job(request: HttpRequest, asked: Query[PullQuery]) -> PullOut:
    """Take one job that is due, with a lease on it; or hear why there is none. Names may be divided by commas."""
    return _pull(request, asked, _names(asked.queues), _names(asked.job_types))


@router.post(
    "/pull_job", auth=Bearer("pull"), response=answers(PullOut, 404, body=True), operation_id="pull_job_by_body"
)
def pull_job_by_body(request: HttpRequest, asked: PullBody) -> PullOut:
    """The same, asked for by a body."""
    return _pull(request, asked, asked.queues, asked.job_types)


@router.post(
    "/report_results",
    auth=Bearer("report"),
    response=answers(ReportOut, 404, 409, body=True),
    operation_id="report_results",
)
def report_results(request: HttpRequest, told: ReportBody) -> ReportOut:
    """Say what was found, how far the job is, and whether it has ended; keep its lease. An empty one is a heartbeat."""
    try:
        answer = report(_told(told), caller_of(request).may)
    except UnknownJobType as unknown:  # to this process: a deploy is under way, or has left its code behind
        detail = f"{unknown} Nothing was changed: send the same again, to a server that has its code."
        raise Problem(503, detail, retry_after=5) from None
    return ReportOut(ok=True, **asdict(answer))


@router.post("/leave", auth=Bearer("pull"), response=answers(Ok, body=True), operation_id="leave")
def leave(request: HttpRequest, told: LeaveBody) -> Ok:
    """Say that this worker stops, so that nobody misses it. What it still runs is due again when its lease ends."""
    presence.leave(jobs_connection(), _stored_id(caller_of(request), told.worker_id))
    return Ok()


def _pull(request: HttpRequest, asked: PullFields, queues: Sequence[str], job_types: Sequence[str]) -> PullOut:
    caller = caller_of(request)
    for queue in queues:
        if not _is_pattern(queue):
            caller.require(queue=queue)
    wanted = Pull(
        worker_id=_stored_id(caller, asked.worker_id),
        name=asked.worker_id,
        choice=Choice(tuple(queues), tuple(caller.token.queues), _allowed_types(caller, job_types)),
        lease=asked.lease_sec,
        wait=asked.wait_sec,
        concurrency=asked.concurrency,
    )

    def require_welcome() -> None:
        require_presence(request)
        caller.require_in_force()

    try:
        found = pull(wanted, is_welcome=require_welcome)
    except Departed:
        return PullOut(job=None, reason="empty", stopped=False)  # which nobody hears
    if isinstance(found, Handed):
        return PullOut(job=_job(found), reason="", stopped=False)
    return PullOut.model_validate({"job": None, "reason": found.reason, "stopped": found.stopped})


def _told(body: ReportBody) -> Told:
    given = body.model_dump(exclude={"job_id", "token", "items", "extend_lease_sec", "idempotency_key"})
    given["retry_after"] = given.pop("retry_after_sec")
    return Told(
        job_id=UUID(body.job_id),
        token=UUID(body.token),
        items={item.key: {} if item.data is None else item.data for item in body.items},
        sent=len(body.items),
        extend=body.extend_lease_sec,
        key=body.idempotency_key,
        **given,
    )


def _job(handed: Handed) -> JobOut:
    job = handed.job
    return JobOut(
        job_id=job.id,
        job_type=job.job_type,
        queue=job.queue,
        subject=job.subject,
        payload=handed.payload,
        meta=json.loads(job.meta),
        token=job.token,
        attempt=job.counted_attempts,
        max_attempts=job.max_attempts,
        cursor=job.cursor,
        progress_count=job.progress_count,
        result_count=job.result_count,
        target_count=job.target_count,
        lease_sec=handed.lease,
        lease_expires_at=job.started_at + timedelta(seconds=handed.lease),
        report_every_sec=handed.report_every,
        timeout_sec=handed.timeout,
        queued_at=job.queued_at,
        slot_at=job.slot_at,
    )


def _allowed_types(caller: Caller, wanted: Sequence[str]) -> frozenset[str]:
    """All that the token is for, or those that are asked for: each must be known, or a slip of the pen would wait."""
    known = [name for name in registry.names() if caller.takes(name)]
    for name in wanted:
        caller.require(job_type=name)
        if name not in known:
            raise UnknownJobType(f"job type {name!r} is not registered.{did_you_mean(name, known)}")
        if registry.get(name).atomic:
            raise OptionInvalid(f"job type {name!r} is atomic: it commits with its handler, and can only run here.")
    return frozenset(wanted or known)


def _names(given: Sequence[str]) -> list[str]:
    names = [name.strip() for each in given for name in each.split(",")]
    if not all(0 < len(name) <= LONGEST_NAME for name in names):
        raise Problem(422, f"a name has 1 to {LONGEST_NAME} characters: write names with single commas between them.")
    return names


def _is_pattern(name: str) -> bool:
    return any(letter in name for letter in "*?[")


def _stored_id(caller: Caller, worker_id: str) -> str:
    """Under its token, so that nobody takes another's place by giving its name."""
    return f"{worker_id}@{caller.token.prefix}"
