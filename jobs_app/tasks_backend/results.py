"""A run in the words of the task API."""

from __future__ import annotations

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
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
)
from jobs_app.tasks_backend.tasks import META, PER_ENQUEUE

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
}
LOST = "jobs_app.errors.LeaseLost"  # its worker was killed or went silent
NOT_RUN = "jobs_app.errors.NotPossible"  # it ended without an attempt that says why


class Asked(NamedTuple):
    """How one run was enqueued, as far as that may differ from how its task was defined."""

    name: str
    queue: str
    priority: int
    max_attempts: int
    timeout: float | None
    meta: Mapping[str, Any]


def stored(result_id: object) -> TaskResult[Any]:
    """The result with this id, in one statement."""
    try:
        run_id = UUID(str(result_id))
    except ValueError:
        raise TaskResultDoesNotExist(result_id) from None
    run, tried = run_with_attempts(run_id)
    if run is None or (job_types.find(run.job_type)) is None:
        raise TaskResultDoesNotExist(result_id)
    asked = Asked(run.job_type, run.queue, run.priority, run.max_attempts, run.timeout_seconds, run.meta)
    result = _result(
        asked,
        id=run.pk,
        payload=run.payload,
        status=STATUS[State(run.state)],
        enqueued_at=run.queued_at,
        started_at=run.first_started_at if run.attempts > 1 else run.started_at,
        last_attempted_at=run.started_at,
        finished_at=run.finished_at,
        errors=_errors(run, tried),
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
    asked = Asked(job.job_type, job.queue, job.priority, job.max_attempts, job.timeout_seconds, json.loads(job.meta))
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
    finished_at = max(job.started_at, timezone.now() - timedelta(seconds=ended.finished_ago))
    object.__setattr__(result, "status", STATUS[State(ended.state)])
    object.__setattr__(result, "finished_at", finished_at)
    if ended.state == State.SUCCEEDED:
        object.__setattr__(result, "_return_value", None if ended.result is None else json.loads(ended.result))
    else:
        error = Tried(1, worker_id, ended.outcome, ended.error_class, ended.error, ended.traceback)
        object.__setattr__(result, "errors", [_error(error)])
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
    task, job_type, said = known.task, known.definition.job_type, asked.meta.get(META, {})
    changes: dict[str, Any] = {"priority": asked.priority, "queue_name": asked.queue}
    if "backend" in said:
        changes["backend"] = said["backend"]
    if "run_after" in said:
        changes["run_after"] = datetime.fromisoformat(said["run_after"])
    if all(hasattr(task, name) for name in PER_ENQUEUE):
        if "backend" not in said and asked.max_attempts != job_type.max_attempts:
            changes["max_attempts"] = asked.max_attempts
        if asked.timeout is not None:
            changes["timeout"] = asked.timeout
    changes = {name: value for name, value in changes.items() if getattr(task, name) != value}
    try:
        return replace(task, **changes) if changes else task
    except (InvalidTask, ValueError):  # its queue or its backend is not in the settings any more
        return task


def _workers(run: Run, tried: Sequence[Tried]) -> list[str]:
    """One for each attempt, also the one that is under way."""
    workers = [one.worker_id for one in tried if one.outcome not in NOT_CALLED]
    return [*workers, run.worker_id] if run.state == State.RUNNING else workers


def _errors(run: Run, tried: Iterable[Tried]) -> list[TaskError]:
    found = [_error(one) for one in tried if one.outcome not in NO_ERROR]
    if not found and STATUS[State(run.state)] is TaskResultStatus.FAILED:
        path = CLASS_OF[Outcome.CANCELLED] if run.state == State.CANCELLED else NOT_RUN
        why = run.error or run.done_reason
        found.append(TaskError(exception_class_path=path, traceback=f"{path}: {why}\n"))
    return found


def _error(tried: Tried) -> TaskError:
    path = tried.error_class or CLASS_OF.get(Outcome(tried.outcome), LOST)
    if "." not in path:
        path = f"builtins.{path}"
    return TaskError(exception_class_path=path, traceback=tried.traceback or f"{path}: {tried.message}\n")
