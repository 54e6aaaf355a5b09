"""Tasks as a project has them: written for the task API alone."""

from __future__ import annotations

from typing import Any

from jobs_app.tasks_backend.library import TaskContext, task


@task()
def noop(*args: Any, **kwargs: Any) -> None:
    return None


@task
async def noop_async(*args: Any) -> None:
    return None


@task()
def add(left: int, right: int = 1) -> int:
    return left + right


@task()
def failing(message: str = "on purpose") -> None:
    raise ValueError(message)


@task(takes_context=True)
def attempt_of(context: TaskContext) -> int:
    return context.attempt
