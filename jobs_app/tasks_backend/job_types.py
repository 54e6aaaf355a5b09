"""Each task is a job type, under its module path: so it has pages, an audit, schedules and limits as any other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from jobs_app.declarations import declare
from jobs_app.definitions import JobDefinition
from jobs_app.errors import DefinitionInvalid
from jobs_app.options import JOB_READERS, read
from jobs_app.registry import registry
from jobs_app.tasks_backend import telling
from jobs_app.tasks_backend.calls import CallSchema
from jobs_app.tasks_backend.library import InvalidTask, Task
from jobs_app.tasks_backend.running import handler_for
from jobs_app.tasks_backend.tasks import options_of
from jobs_app.values import NAME

UNUSUAL = re.compile(r"[^A-Za-z0-9._:-]+")
OF_ARGUMENTS = ("subject", "key", "singleton", "exclusive")  # options that may name an argument
KEPT = 100  # characters of a path that is no name


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTask:
    """A task as it was defined, and what it is enqueued with."""

    task: Task[..., Any]
    backend: Any  # its class
    options: Mapping[str, Any]
    definition: JobDefinition[..., Any]
    schema: CallSchema


_known: dict[str, KnownTask] = {}  # by the name of the job type


def name_of(task: Task[..., Any]) -> str:
    """The module path, which nearly always is a name that a job type can have."""
    path = task.module_path
    if NAME.fullmatch(path):
        return path
    digest = hashlib.sha256(path.encode()).hexdigest()[:12]
    return f"{UNUSUAL.sub('', path)[-KEPT:].lstrip('._:-')}:{digest}"


def find(name: str) -> KnownTask | None:
    return _known.get(name)


def names() -> list[str]:
    return list(_known)


def know(task: Task[..., Any], backend: Any) -> KnownTask:
    """The task under this path. It becomes a job type when it is first seen, and anew when its code is loaded again or
    its backend has other options; one that `using` made of it changes nothing."""
    name = name_of(task)
    known = _known.get(name)
    if known is None or known.task.func is not task.func or name not in registry or _is_outdated(known, backend):
        base = task if known is None or known.task.func is not task.func else known.task
        known = _known[name] = _define(name, base, backend)
    return known


def forget(name: str) -> None:
    """For tests: as if its module had never been loaded."""
    _known.pop(name, None)
    registry.unregister(name)


def _is_outdated(known: KnownTask, backend: Any) -> bool:
    return known.task.backend == backend.alias and known.options != backend.options


def _define(name: str, task: Task[..., Any], backend: Any) -> KnownTask:
    schema = CallSchema(task.func, takes_context=task.takes_context)
    said = {"label": _label(task), **options_of(task, backend)}
    given = {**said, "name": name, "queue": task.queue_name, "priority": task.priority}
    try:
        named = {
            option: schema.argument(given[option]) for option in OF_ARGUMENTS if isinstance(given.get(option), str)
        }
        job_type = declare(handler_for(task, type(backend)), {**given, **named}, schema=schema)
        registry.register(job_type)
    except DefinitionInvalid as problem:
        raise InvalidTask(f"{task.module_path}: {problem}") from problem
    telling.listen()
    return KnownTask(
        task=task, backend=type(backend), options=backend.options, definition=JobDefinition(job_type), schema=schema
    )


def require_usable(options: Mapping[str, Any], allowed: Collection[str], where: str) -> None:
    """DefinitionInvalid for an option that no task of the backend could use."""
    read(options, {name: reader for name, reader in JOB_READERS.items() if name in allowed}, DefinitionInvalid, where)


def _label(task: Task[..., Any]) -> str:
    words = task.func.__name__.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
