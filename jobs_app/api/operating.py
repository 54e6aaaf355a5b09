"""Pauses, schedules, queues and numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Body, Path, Query, Router
from pydantic import BaseModel, Field, StringConstraints

from jobs_app.api.access import Bearer, Caller, caller_of
from jobs_app.api.answers import answers
from jobs_app.api.problems import Problem
from jobs_app.api.run_shapes import ActBody, ActOut
from jobs_app.api.shapes import Asked, Moment, PageSize, Text
from jobs_app.insights import counts, processes, schedule_list, schedules
from jobs_app.insights.budget import budget
from jobs_app.insights.documents import queue_data, schedule_data
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.control.schedule_rows import LARGEST_ID
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ScheduleState

READ_SECONDS = 5.0

router = Router(tags=["operate"])

ScheduleId = Annotated[int, Field(ge=1, le=LARGEST_ID)]


class ResumeBody(ActBody):
    scope: Literal["all", "queue", "job_type", "subject"]
    name: Text = Field(default="", description="of the queue, the job type or the subject; none for all")


class PauseBody(ResumeBody):
    until: Moment | None = None


class QueueOut(BaseModel):
    queue: str
    queued: int
    scheduled: int
    retrying: int
    held: int
    running: int
    oldest_wait_seconds: float | None
    paused: bool


class QueuesOut(BaseModel):
    at: datetime
    queues: list[QueueOut]
    capped: bool = Field(description="more waits than was counted: the numbers are at least these")


class StatsOut(BaseModel):
    at: datetime
    waiting: int
    running: int
    workers: int = Field(description="that are alive, remote ones among them")
    slots: int
    has_scheduler: bool
    last_24_hours: dict[str, int] = Field(description="how runs ended")
    capped: bool


class ScheduleQuery(Asked):
    job_type: Text = ""
    subject: Text = ""
    state: Literal["", "active", "paused", "disabled", "retired", "done"] = ""
    after: Annotated[str, StringConstraints(max_length=2000)] = Field(default="", description="from the last page")
    limit: PageSize = 50


class ScheduleOut(BaseModel):
    id: int
    job_type: str
    subject: str
    name: str
    origin: str
    when: str
    state: str
    why: str
    timezone: str
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_finished_at: datetime | None
    last_status: str | None
    next_slots: list[datetime]
    payload: Any


class SchedulesOut(BaseModel):
    schedules: list[ScheduleOut]
    after: str | None = Field(description="where the next page begins; null: there is none")


@router.post("/pause", auth=Bearer("operate"), response=answers(ActOut, 404, body=True), operation_id="pause")
def pause(request: HttpRequest, told: PauseBody) -> ActOut:
    """Let nothing of it start. What runs goes on, and reports are taken."""
    caller = caller_of(request)
    _require_own(caller, told.scope, told.name)
    return _done(control.pause(told.scope, told.name, caller, told.reason, told.until))


@router.post("/resume", auth=Bearer("operate"), response=answers(ActOut, 404, 409, body=True), operation_id="resume")
def resume(request: HttpRequest, told: ResumeBody) -> ActOut:
    """End a pause."""
    caller = caller_of(request)
    _require_own(caller, told.scope, told.name)
    return _done(control.resume(told.scope, told.name, caller, told.reason))


@router.get("/queues", auth=Bearer("read"), response=answers(QueuesOut), operation_id="list_queues")
def list_queues(request: HttpRequest) -> QueuesOut:
    """What each queue holds now."""
    caller, connection = caller_of(request), jobs_connection()
    if caller.token.job_types:  # the numbers are of all job types
        _require_unrestricted(caller)
    with budget(connection, READ_SECONDS):
        live, pauses = counts.live(connection), read_pauses(connection)
    told = [each for each in live.queues if caller.serves(each.queue)]
    queues = [QueueOut(**queue_data(each, live.at), paused=not pauses.allows(each.queue)) for each in told]
    return QueuesOut(at=live.at, queues=queues, capped=live.is_capped)


@router.get("/stats", auth=Bearer("read"), response=answers(StatsOut), operation_id="stats")
def stats(request: HttpRequest) -> StatsOut:
    """How much waits and runs, who works, and how the last day went."""
    _require_unrestricted(caller_of(request))
    connection = jobs_connection()
    with budget(connection, READ_SECONDS):
        live, ended = counts.live(connection), counts.ended(connection)
        found = processes.all_of(connection, live.at)
    return StatsOut(
        at=live.at,
        waiting=sum(each.waiting for each in live.queues),
        running=sum(each.running for each in live.queues),
        workers=len([each for each in found.living if each.is_worker]),
        slots=found.slots,
        has_scheduler=found.has_scheduler,
        last_24_hours=ended.states,
        capped=live.is_capped or ended.is_capped,
    )


@router.get("/schedules", auth=Bearer("read"), response=answers(SchedulesOut), operation_id="list_schedules")
def list_schedules(request: HttpRequest, asked: Query[ScheduleQuery]) -> SchedulesOut:
    """What comes back by itself, by job type, subject and name."""
    caller, connection = caller_of(request), jobs_connection()
    if caller.token.queues:
        _require_unrestricted(caller)
    caller.require_choice(queue="", job_type=asked.job_type)
    wanted = ScheduleFilter(job_type=asked.job_type or None, subject=asked.subject or None, state=asked.state or None)
    with budget(connection, READ_SECONDS):
        found = schedule_list.page(connection, wanted, after=asked.after, limit=asked.limit)
        rows = [line.row for line in found.lines]
        runs = schedules.last_runs(connection, rows)
        told = [ScheduleOut.model_validate(schedule_data(row, runs.get(row.pk))) for row in rows]
    return SchedulesOut(schedules=told, after=found.last or None)


def _act_on_schedule(
    name: str, does: str, act: Callable[[int, Any, str], Acted]
) -> Callable[[HttpRequest, int, ActBody], ActOut]:
    def view(request: HttpRequest, schedule_id: Path[ScheduleId], told: Body[ActBody] = ActBody()) -> ActOut:  # noqa: B008
        caller = caller_of(request)
        _require_own_schedule(caller, schedule_id)
        return _done(act(schedule_id, caller, told.reason))

    view.__name__, view.__doc__ = f"{name}_schedule", does
    shapes = answers(ActOut, 404, 409, body=True)
    at = f"/schedules/{{schedule_id}}/{name}"
    return router.post(at, auth=Bearer("operate"), response=shapes, operation_id=view.__name__)(view)


pause_schedule = _act_on_schedule("pause", "Let it make no jobs until somebody resumes it.", control.pause_schedule)
resume_schedule = _act_on_schedule("resume", "Let it go on from now.", control.resume_schedule)
trigger_schedule = _act_on_schedule("trigger", "Make it due now.", control.trigger_schedule)


def _require_own(caller: Caller, scope: str, name: str) -> None:
    """A token for some queues or job types pauses no more than these: a queue has jobs of other types too, and a job
    type may have jobs in other queues."""
    if scope == "queue" and not caller.token.job_types:
        caller.require(queue=name)
    elif scope == "job_type" and not caller.token.queues:
        caller.require(job_type=name)
    else:
        _require_unrestricted(caller)


def _require_own_schedule(caller: Caller, schedule_id: int) -> None:
    if caller.token.queues:
        _require_unrestricted(caller)
    row = ScheduleState.objects.using(jobs_connection().alias).filter(pk=schedule_id).first()
    if row is None or not caller.takes(row.job_type):
        raise Problem(404, f"there is no schedule {schedule_id}: see /schedules for those there are.")


def _require_unrestricted(caller: Caller) -> None:
    if caller.is_restricted:
        raise Problem(403, "this is about all queues and job types: it needs a token that is for all of them.")


def _done(acted: Acted) -> ActOut:
    if not acted:
        reasons = "; ".join(f"{name} {why}" for name, why in acted.skipped.items())
        raise Problem(409, f"nothing was changed: {reasons}.")
    return ActOut(moved=len(acted.moved), note=acted.note)
