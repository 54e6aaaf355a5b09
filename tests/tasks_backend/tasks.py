"""Tasks as a project has them: written for the task API, most of them for that alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs_app.retry import Backoff
from jobs_app.tasks_backend import task as task_with_options
from jobs_app.tasks_backend.library import TaskContext, task
from tests.waiting import until


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
async def add_async(left: int, right: int = 1) -> int:
    return left + right


@task()
def by_place(left: int, /, right: int, *rest: int, scale: int = 1) -> int:
    return scale * (left + right + sum(rest))


@task()
def echo(value: Any) -> Any:
    return value


@task()
def failing(message: str = "on purpose") -> None:
    raise ValueError(message)


class Nothing(Exception):
    """An error that is false, as one with no members would be."""

    def __bool__(self) -> bool:
        return False


@task()
def failing_with_nothing() -> None:
    raise Nothing


@task()
async def failing_async() -> None:
    raise ValueError("on purpose")


@task()
def failing_in_depth() -> None:
    raise ValueError(KeyError("within"))


@task()
def exiting() -> None:
    sys.exit("enough")


@task()
def interrupted() -> None:
    raise KeyboardInterrupt("stop")


@task()
def unstorable(kind: str) -> Any:
    return {"object": object(), "nan": float("nan"), "nul": "a\0b", "key": {1: 2}}[kind]


@task(takes_context=True)
def attempt_of(context: TaskContext) -> int:
    return context.attempt


@task(takes_context=True)
async def attempt_of_async(context: TaskContext) -> int:
    return context.attempt


@task(takes_context=True)
def told(context: TaskContext, word: str) -> list[Any]:
    result = context.task_result
    return [result.id, result.status.value, word, result.args, result.kwargs, len(result.worker_ids)]


@task_with_options(max_attempts=3, backoff=Backoff(base=0), takes_context=True)
def third_time(context: TaskContext) -> list[Any]:
    if context.attempt < 3:
        raise ValueError(f"attempt {context.attempt}")
    return [context.attempt, [error.exception_class_path for error in context.task_result.errors]]


@task_with_options(max_attempts=2, backoff=Backoff(base=0))
def never() -> None:
    raise ValueError("again")


@task_with_options(max_attempts=2, policy="short", key=lambda payload: "one")
def one_waits() -> None: ...


@task_with_options(subject="user_id", exclusive="user_id", on_conflict="return")
def greet(user_id: int, word: str = "hello") -> str:
    return f"{word} {user_id}"


@task()
def sign_in(user: str, password: str) -> None: ...


@task_with_options(every="1h")
def hourly() -> None: ...


@task_with_options(isolation="process", timeout=60)
def apart(message: str = "") -> int:
    if message:
        raise ValueError(message)
    return os.getpid()


@task()
def hold(began: str, gate: str) -> str:
    """Says that it has begun, and waits for a file."""
    Path(began).touch()
    until(Path(gate).exists, every=0.02)
    return "let go"


def not_a_task() -> None: ...


def as_context(context: TaskContext) -> None: ...


async def coroutine() -> None: ...


def inner() -> Callable[[], None]:
    def function() -> None: ...

    return function
