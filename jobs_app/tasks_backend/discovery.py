"""Finding the project's tasks before somebody asks a worker for one: by what code has, never by a stored name."""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass
from types import ModuleType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils.module_loading import import_string

from jobs_app.logs import event

logger = logging.getLogger("jobs_app.tasks_backend")

MODULE = "tasks"  # of an installed app or of the project: a module, or a package with all that is in it
NOT_TASKS = ("__main__", "tests")  # what a package may have beside them, and runs when it is imported

left_out: dict[str, str] = {}  # modules that need what is not there, and that; a check tells of them


def our_aliases() -> list[str]:
    """The names in settings.TASKS whose backend is ours; most projects have none, and need no library of tasks."""
    return [alias for alias, path in backend_paths().items() if _is_ours(path)]


def backend_paths() -> dict[str, str]:
    """What settings.TASKS says, under each alias."""
    if not settings.is_overridden("TASKS"):  # type: ignore[misc]
        return {}
    backends: Any = settings.TASKS
    return {alias: params.get("BACKEND", "") for alias, params in backends.items()}


def discover(packages: Iterable[str]) -> None:
    """Load the tasks of the installed apps and of the packages given. Starts nothing and asks no database."""
    aliases = our_aliases()
    if not aliases:
        return
    for package in dict.fromkeys([*(config.name for config in apps.get_app_configs()), *packages]):
        for module in _modules(f"{package}.{MODULE}"):
            _adopt(module, aliases[0])


def load_urls() -> None:
    """What views enqueue is defined in what they import. Web processes load it with the first request; workers and
    schedulers do it here."""
    path = getattr(settings, "ROOT_URLCONF", None)
    if not path or not our_aliases():
        return
    try:
        import_module(path)
    except ImportError as error:  # it may need what only the site has. Its other tasks are known
        _leave_out(path, error)


def _is_ours(path: str) -> bool:
    try:
        found: Any = import_string(path)
    except ImportError:  # the library says it better, when the backend is used, or a check where that is missing
        return False
    from jobs_app.tasks_backend.backend import JobsBackend

    return isclass(found) and issubclass(found, JobsBackend)


def _modules(path: str) -> Iterator[ModuleType]:
    """The module of this path and those within it; none where there is none."""
    if not _exists(path) or (module := _loaded(path)) is None:
        return
    yield module
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if inner.name not in NOT_TASKS:
            yield from _modules(f"{path}.{inner.name}")


def _loaded(path: str) -> ModuleType | None:
    """A mistake of its own is as loud as in every module. What it needs of others may be there for the old library
    alone, and be gone with it: the rest must start."""
    try:
        return import_module(path)
    except ImportError as error:
        if _package(error.name or path) == _package(path):
            raise
        _leave_out(path, error)
        return None


def _leave_out(path: str, error: ImportError) -> None:
    left_out[path] = str(error)
    text = "the tasks in %s cannot be loaded, and stay unknown: %s"
    logger.warning(text, path, error, extra=event("tasks_not_loaded", path=path, error=error))


def _package(path: str) -> str:
    return path.partition(".")[0]


def _exists(path: str) -> bool:
    try:
        return find_spec(path) is not None
    except (ImportError, ValueError):  # a package that is none, or a module without a place
        return False


def _adopt(module: ModuleType, alias: str) -> None:
    """Tasks of another backend may come here with `using(backend=...)`: a worker has to know them then."""
    from jobs_app.tasks_backend import job_types
    from jobs_app.tasks_backend.library import InvalidTask, Task, task_backends

    # By the type: to ask a lazy object for its class would make it, be it a connection or a storage.
    for found in [each for each in vars(module).values() if issubclass(type(each), Task)]:
        if job_types.find(job_types.name_of(found)) is None:
            with suppress(InvalidTask):  # then it stays with its own backend
                job_types.know(found, task_backends[alias])
