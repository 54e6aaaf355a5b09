"""The public names, each resolved when first used, so that importing them needs no models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs_app import errors
    from jobs_app.current import current_job
    from jobs_app.definitions import job
    from jobs_app.errors import Cancel, Fail, Retry, Snooze
    from jobs_app.handles import get_run
    from jobs_app.retry import Backoff
    from jobs_app.sources import due, subjects
    from jobs_app.triggering import trigger

__version__ = "0.1.0"
__all__ = [
    "Backoff",
    "Cancel",
    "Fail",
    "Retry",
    "Snooze",
    "current_job",
    "due",
    "errors",
    "get_run",
    "job",
    "subjects",
    "trigger",
]

_HOMES = {
    "Backoff": "jobs_app.retry",
    "Cancel": "jobs_app.errors",
    "Fail": "jobs_app.errors",
    "Retry": "jobs_app.errors",
    "Snooze": "jobs_app.errors",
    "current_job": "jobs_app.current",
    "due": "jobs_app.sources",
    "get_run": "jobs_app.handles",
    "job": "jobs_app.definitions",
    "subjects": "jobs_app.sources",
    "trigger": "jobs_app.triggering",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("jobs_app.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'jobs_app' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
