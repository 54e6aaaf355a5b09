"""Checks of settings.TASKS, where a backend of it is ours."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, register

from jobs_app.checks.telling import TAG, error, silenced_with, warning
from jobs_app.tasks_backend.discovery import backend_paths, left_out, our_aliases

ADD_APP = "Add 'jobs_app' to INSTALLED_APPS, and run manage.py migrate."
OURS = "jobs_app.tasks_backend."


def app_is_installed(alias: str) -> list[CheckMessage]:
    """Asked by the backend itself: nobody else is there to ask."""
    if apps.is_installed("jobs_app"):
        return []
    return [error("E010", f"TASKS[{alias!r}] uses JobsBackend, and jobs_app is not installed.", hint=ADD_APP)]


@register(TAG)
def library_is_there(**kwargs: Any) -> list[CheckMessage]:
    aliases = [alias for alias, path in backend_paths().items() if path.startswith(OURS)]
    if not aliases or find_spec("django.tasks") or find_spec("django_tasks"):
        return []
    sentence = f"TASKS[{aliases[0]!r}] uses JobsBackend, and this Django has no task API of its own."
    return [error("E011", sentence, hint="Install the package django-tasks, and add 'django_tasks' to INSTALLED_APPS.")]


@register(TAG)
def library_is_installed(**kwargs: Any) -> list[CheckMessage]:
    if not our_aliases() or find_spec("django.tasks") or apps.is_installed("django_tasks"):
        return []
    sentence = "TASKS uses JobsBackend, and 'django_tasks' is not installed: tasks are neither checked nor logged."
    return [warning("W016", sentence, hint="Add 'django_tasks' to INSTALLED_APPS.")]


@register(TAG)
def tasks_are_loaded(**kwargs: Any) -> list[CheckMessage]:
    return [
        warning(
            "W018",
            f"{path} cannot be imported, and its tasks are unknown here: {problem}.",
            hint=f"Install what it needs, or remove it. {silenced_with('W018')}",
        )
        for path, problem in left_out.items()
    ]
