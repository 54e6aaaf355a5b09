"""A run in the words of the task API."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from jobs_app.insights.attempts import Tried, run_with_attempts
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended
from jobs_app.models import Outcome, Run, State
from jobs_app.tasks_backend import job_types
from jobs_app.tasks_backend.calls import split
from jobs_app.tasks_backend.library import (
    InvalidTask,
    InvalidTaskBackend,
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
)
from jobs_app.tasks_backend.tasks import META

STATUS = {
    State.QUEUED: TaskResultStatus.READY,
    State.RUNNING: TaskResultStatus.RUNNING,
    State.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    State.FAILED: TaskResultStatus.FAILED,
    State.CANCELLED: TaskResultStatus.FAILED,  # the task API has no word for it
}
NOT_CALLED = (Outcome.DEFERRED,)  # a claim that met a maintenance window: no attempt to whoever counts them
NO_ERROR = (Outcome.SUCCESS, Outcome.DEFERRED, Outcome.SNOOZED, Outcome.INTERRUPTED)
CLASS_OF = {
    Outcome.TIMEOUT: "jobs_app.errors.JobTimeout",
    Outcome.CANCELLED: "jobs_app.errors.JobCancelled",
    Outcome.LOST: "jobs_app.errors.LeaseLost",  # its worker was killed or went silent
    Outcome.CRASHED: "jobs_app.errors.LeaseLost",
}
NOT_RUN = "jobs_app.errors.NotPossible"  # it ended without an attempt that says why


class Asked(NamedTuple):
    """How one run was enqueued, as far as that may differ from how its task was defined."""

    name: str
    queue: str
    priority: int
    meta: Mapping[str, Any]


def stored(result_id: object) -> TaskResult[Any]:
    """The result with this id, in one statement."""
    try:
        run_id = UUID(str(result_id))
    except ValueError:
        raise TaskResultDoesNotExist(result_id) from None
    run, tried = run_with_attempts(run_id)
    if run is None or job_types.find(run.job_type) is None:
        raise TaskResultDoesNotExist(result_id)
    asked = Asked(run.job_type, run.queue, run.priority, run.meta)
    result = _result(
        asked,
        id=run.pk,
        payload=run.payload,
        status=STATUS[State(run.state)],
        enqueued_at=run.queued_at,
        started_at=run.first_started_at if run.attempts > 1 else run.started_at,
        last_attempted_at=run.started_at,
        finished_at=run.finished_at,
        errors=_errors(tried, state=run.state, why=run.error or run.done_reason),
        worker_ids=_workers(run, tried),
    )
    object.__setattr__(result, "_return_value", run.result)
    return result


def enqueued(task: Task[..., Any], run_id: UUID, queued_at: datetime, args: Any, kwargs: Any) -> TaskResult[Any]:
    """Right after its enqueue, without asking the database again."""
    return TaskResult(
        task=task,
        id=str(run_id),
        status=TaskResultStatus.READY,
        enqueued_at=queued_at,
        started_at=None,
        last_attempted_at=None,
        finished_at=None,
        args=args,
        kwargs=kwargs,
        backend=task.backend,
        errors=[],
        worker_ids=[],
    )


def result_of_claim(job: ClaimedJob, worker_id: str) -> TaskResult[Any]:
    """As its attempt begins. Of a first one everything is known; what was before another has to be read."""
    if job.attempts > 1:
        return stored(job.id)
    asked = Asked(job.job_type, job.queue, job.priority, json.loads(job.meta))
    return _result(
        asked,
        id=job.id,
        payload=json.loads(job.payload),
        status=TaskResultStatus.RUNNING,
        enqueued_at=job.queued_at,
        started_at=job.started_at,
        last_attempted_at=job.started_at,
        finished_at=None,
        errors=[],
        worker_ids=[worker_id],
    )


def result_of_end(job: ClaimedJob, ended: Ended, worker_id: str) -> TaskResult[Any]:
    """As the run has ended, and that is stored."""
    if job.attempts > 1:
        return stored(job.id)
    result = result_of_claim(job, worker_id)
    now = timezone.now()  # the clock of this host: that of the database would cost a look at what was stored
    started_at = job.started_at
    if ended.started_ago is not None:  # claimed a little ahead
        started_at = max(started_at, now - timedelta(seconds=ended.started_ago))
    finished_at = max(started_at, now - timedelta(seconds=ended.finished_ago))
    object.__setattr__(result, "status", STATUS[State(ended.state)])
    object.__setattr__(result, "started_at", started_at)
    object.__setattr__(result, "last_attempted_at", started_at)
    object.__setattr__(result, "finished_at", finished_at)
    if ended.result is not None:
        object.__setattr__(result, "_return_value", json.loads(ended.result))
    tried = Tried(1, worker_id, ended.outcome, ended.error_class, ended.error, ended.traceback)
    errors = _errors([tried], state=ended.state, why=ended.error or ended.done_reason)
    object.__setattr__(result, "errors", errors)
    return result


def _result(asked: Asked, *, id: UUID, payload: Mapping[str, Any], **facts: Any) -> TaskResult[Any]:  # noqa: A002
    args, kwargs = split(payload)
    task = _task_as_asked(asked)
    return TaskResult(task=task, id=str(id), args=args, kwargs=kwargs, backend=task.backend, **facts)


def _task_as_asked(asked: Asked) -> Task[..., Any]:
    """The task with what `using` had changed for this run."""
    known = job_types.find(asked.name)
    if known is None:
        raise TaskResultDoesNotExist(f"the task {asked.name} is not loaded here")
    task, said = known.task, asked.meta.get(META, {})
    changes = {"priority": asked.priority, "queue_name": asked.queue, **said}
    if "run_after" in said:
        changes["run_after"] = datetime.fromisoformat(said["run_after"])
    changes = {name: value for name, value in changes.items() if getattr(task, name, None) != value}
    try:
        return replace(task, **changes) if changes else task
    except (InvalidTask, InvalidTaskBackend):  # its queue or its backend is not in the settings any more
        return task


def _workers(run: Run, tried: Sequence[Tried]) -> list[str]:
    """One for each attempt, also the one that is under way."""
    workers = [one.worker_id for one in tried if one.outcome not in NOT_CALLED]
    return [*workers, run.worker_id] if run.state == State.RUNNING else workers


def _errors(tried: Iterable[Tried], *, state: str, why: str) -> list[TaskError]:
    found = [_error(one) for one in tried if one.outcome not in NO_ERROR]
    if not found and STATUS[State(state)] is TaskResultStatus.FAILED:
        path = CLASS_OF[Outcome.CANCELLED] if state == State.CANCELLED else NOT_RUN
        found.append(TaskError(exception_class_path=path, traceback=f"{path}: {why}\n"))
    return found


def _error(tried: Tried) -> TaskError:
    path = _class_path(tried)
    return TaskError(exception_class_path=path, traceback=tried.traceback or f"{path}: {tried.message}\n")


def _class_path(tried: Tried) -> str:
    """Of the error that was raised; where none was, a word stands for what was done to the run."""
    said = tried.error_class
    if "." in said:
        return said
    if hasattr(builtins, said):
        return f"builtins.{said}"
    return CLASS_OF.get(Outcome(tried.outcome), NOT_RUN)
