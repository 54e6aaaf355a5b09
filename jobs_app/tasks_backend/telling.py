"""`task_finished` of the task API, sent when it is stored how a task ended.

Robust, as every signal that a worker sends: a receiver that fails changes nothing of what happened.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jobs_app.frames import of_handler
from jobs_app.signals import job_finished, jobs_recovered
from jobs_app.tasks_backend.library import TaskResult, TaskResultDoesNotExist, TaskResultStatus, task_finished

if TYPE_CHECKING:
    from jobs_app.lifecycle.claim import ClaimedJob
    from jobs_app.lifecycle.moves import Ended


class TaskFailed(Exception):
    """Stands for the error of an attempt that another process made, which is known here by its text alone."""


def listen() -> None:
    """From the first task on; before it, no job pays for this."""
    job_finished.connect(finished)
    jobs_recovered.connect(recovered)


def finished(*, job: ClaimedJob, ended: Ended, worker_id: str, **kwargs: Any) -> None:
    """When it is stored that a task has ended. One that is tried again has not."""
    from jobs_app.tasks_backend import job_types

    known = job_types.find(job.job_type)
    if known is None:
        return
    from jobs_app.models import ONE_QUEUED
    from jobs_app.tasks_backend.results import result_of_end, stored

    if ended.state == "queued" and job.policy not in ONE_QUEUED:
        return
    # Where only one may wait with a key, who comes back may have to give way: how it is stored is not what was said.
    result = stored(job.id) if ended.state == "queued" else result_of_end(job, ended, worker_id)
    if not result.is_finished:
        return
    if result.status == TaskResultStatus.SUCCESSFUL:
        task_finished.send_robust(known.backend, task_result=result)
        return
    _send_failed(known.backend, result, ended.raised)


def recovered(*, failed: Collection[UUID] = (), expired: Collection[UUID] = (), **kwargs: Any) -> None:
    """Of those whose worker is lost, and those that nobody started in time, nobody else would tell."""
    from jobs_app.models import JobRun, jobs_database
    from jobs_app.tasks_backend import job_types
    from jobs_app.tasks_backend.results import stored

    runs = JobRun.objects.using(jobs_database()).filter(pk__in=[*failed, *expired], job_type__in=job_types.names())
    for run_id, name in runs.values_list("pk", "job_type"):
        known = job_types.find(name)
        with suppress(TaskResultDoesNotExist):  # pruned meanwhile
            _send_failed(known.backend if known else None, stored(run_id), None)


def _send_failed(sender: Any, result: TaskResult[Any], raised: BaseException | None) -> None:
    """With the error as the one that is being handled, where receivers look for it."""
    error = TaskFailed(result.errors[-1].traceback.strip() if result.errors else "") if raised is None else raised
    traceback = of_handler(error.__traceback__)
    try:
        raise error
    except BaseException:
        error.__traceback__ = traceback  # where the task failed; this frame in it would keep both alive
        task_finished.send_robust(sender, task_result=result)
