"""A task that may say more than the task API foresees: options of a job type, given where the task is defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, make_dataclass, replace
from enum import Enum
from typing import Any

from django import VERSION

from jobs_app.options import JOB_READERS, Reader, read
from jobs_app.tasks_backend.library import (
    DEFAULT_TASK_BACKEND_ALIAS,
    DEFAULT_TASK_PRIORITY,
    DEFAULT_TASK_QUEUE_NAME,
    InvalidTask,
    Task,
    task_backends,
)
from jobs_app.tasks_backend.library import task as library_task
from jobs_app.values import period

# What the task API says itself, in its own words, or what a task cannot be.
NOT_OF_TASKS = (
    "name",
    "queue",
    "priority",
    "takes_context",
    "schema",
    "remote",
    "target",
    "sink",
    "variant",
    "timeouts",
)
TASK_OPTIONS = tuple(name for name in JOB_READERS if name not in NOT_OF_TASKS)
META = "task"  # under this name of a run's meta: what only the task API wants to know again
# What `using` changes for what is enqueued through it.
PER_ENQUEUE: Mapping[str, Reader] = {"max_attempts": JOB_READERS["max_attempts"], "timeout": period}


class Given(Enum):
    """None is a value of many options, so that another word is needed for what was not given."""

    NOT = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


def _using(self: Any, **changes: Any) -> Any:
    """Create a new Task with modified defaults: the task API's own, max_attempts and timeout."""
    own = {name: changes.pop(name) for name in PER_ENQUEUE if name in changes}
    given = {name: value for name, value in own.items() if value is not None}
    own = read(given, PER_ENQUEUE, InvalidTask, f"using() of {self.name}")
    changed = Task.using(self, **changes)
    return replace(changed, **own) if own else changed


def options_of(task: Task[..., Any], backend: Any) -> dict[str, Any]:
    """What the backend says of all its tasks and this one of itself. Without a word about attempts it is tried once, as
    the contract has it."""
    said = {**backend.options, **own_options(task)}
    return said if said.get("preset") else {"max_attempts": 1, **said}


def own_options(task: Task[..., Any]) -> dict[str, Any]:
    """What it was given beside what every task has."""
    found = {name: getattr(task, name, Given.NOT) for name in TASK_OPTIONS}
    return {name: value for name, value in found.items() if value is not Given.NOT}


def asked_for(task: Task[..., Any], base: Task[..., Any]) -> dict[str, Any]:
    """What `using` made of it that no column of a run says, as JSON."""
    said = {name: getattr(task, name, Given.NOT) for name in ("backend", *PER_ENQUEUE)}
    asked = {
        name: value
        for name, value in said.items()
        if value is not Given.NOT and value != getattr(base, name, Given.NOT)
    }
    if task.run_after is not None:
        asked["run_after"] = task.run_after.isoformat()
    return asked


# Slots and fields as in the class that it extends, so that it compares, is replaced and is pickled as that one.
JobsTask: type[Task[..., Any]] = make_dataclass(
    "JobsTask",
    [(name, Any, field(default=Given.NOT, repr=False, hash=False)) for name in TASK_OPTIONS],
    bases=(Task,),
    namespace={"__module__": __name__, "__doc__": "A task of JobsBackend.", "using": _using},
    frozen=True,
    slots=True,
    kw_only=True,
)


def _task_of_django_6_0(
    function: Callable[..., Any] | None = None,
    *,
    priority: int = DEFAULT_TASK_PRIORITY,
    queue_name: str = DEFAULT_TASK_QUEUE_NAME,
    backend: str = DEFAULT_TASK_BACKEND_ALIAS,
    takes_context: bool = False,
    **options: Any,
) -> Any:
    """`@task` as later releases have it, which hand further options to the backend's class of tasks."""

    def wrapper(decorated: Callable[..., Any]) -> Any:
        said: Mapping[str, Any] = {"priority": priority, "queue_name": queue_name, "backend": backend}
        make = task_backends[backend].task_class
        return make(func=decorated, takes_context=takes_context, run_after=None, **said, **options)

    return wrapper if function is None else wrapper(function)


# `@task(max_attempts=5)` on every supported release; with plain options, Django's own decorator is the same.
task: Any = _task_of_django_6_0 if (6, 0) <= VERSION < (6, 1) else library_task
