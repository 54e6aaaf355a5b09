"""Checks of settings.TASKS, where a backend of it is ours."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, register

from jobs_app.checks.telling import TAG, error, warning
from jobs_app.tasks_backend.discovery import our_aliases


def app_is_installed(alias: str) -> list[CheckMessage]:
    """Asked by the backend itself: nobody else is there to ask."""
    if apps.is_installed("jobs_app"):
        return []
    sentence = f"TASKS[{alias!r}] uses JobsBackend, and jobs_app is not installed."
    return [error("E010", sentence, hint="Add 'jobs_app' to INSTALLED_APPS, and run manage.py migrate.")]


@register(TAG)
def library_is_installed(**kwargs: Any) -> list[CheckMessage]:
    if not our_aliases():
        return []
    from jobs_app.tasks_backend.library import IS_DJANGO

    if IS_DJANGO or apps.is_installed("django_tasks"):
        return []
    sentence = "TASKS uses JobsBackend, and 'django_tasks' is not installed: tasks are neither checked nor logged."
    return [warning("W016", sentence, hint="Add 'django_tasks' to INSTALLED_APPS.")]
