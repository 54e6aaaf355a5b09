"""`django.tasks` on this queue: `TASKS = {"default": {"BACKEND": "jobs_app.tasks_backend.JobsBackend"}}`.

Code that is written for Django's task API, or for the package `django-tasks` on Django 5.2, runs on it unchanged, with
the admin, the audit and schedules. Names are resolved when first used: not every project has one of the two, and tasks
are defined while models are loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs_app.tasks_backend.backend import JobsBackend
    from jobs_app.tasks_backend.tasks import JobsTask, task

__all__ = ["JobsBackend", "JobsTask", "task"]

_HOMES = {
    "JobsBackend": "jobs_app.tasks_backend.backend",
    "JobsTask": "jobs_app.tasks_backend.tasks",
    "task": "jobs_app.tasks_backend.tasks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jobs_app.tasks_backend' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
