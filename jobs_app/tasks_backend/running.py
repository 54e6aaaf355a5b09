"""A task in a worker: called with its arguments and, if it takes one, its context; it returns JSON or has failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async

from jobs_app.conf import get_settings
from jobs_app.current import current_job
from jobs_app.strict_json import dumps
from jobs_app.tasks_backend.library import Task, TaskContext, TaskResult, normalize_json, task_started


def handler_for(task: Task[..., Any], sender: type) -> Callable[..., Any]:
    """What the runner calls in place of the task's function, with the arguments by position and by name."""

    def run(args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = _begun()
        task_started.send_robust(sender, task_result=result)
        return _storable(task.func(*_context(task, result), *args, **kwargs))

    async def run_async(args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = await sync_to_async(_begun)()
        await task_started.asend_robust(sender, task_result=result)
        return _storable(await task.func(*_context(task, result), *args, **kwargs))

    return update_wrapper(run_async if iscoroutinefunction(task.func) else run, task.func)


def _begun() -> TaskResult[Any]:
    from jobs_app.tasks_backend.results import result_of_claim

    job = current_job()
    return result_of_claim(job.claimed, job.worker_id)


def _context(task: Task[..., Any], result: TaskResult[Any]) -> tuple[TaskContext, ...]:
    return (TaskContext(task_result=result),) if task.takes_context else ()


def _storable(returned: Any) -> Any:
    """A caller reads it as what the task returned, so that what JSON cannot hold ends the attempt."""
    value = normalize_json(returned)
    dumps(value, limit=get_settings().max_result_bytes, what="return value")
    return value
