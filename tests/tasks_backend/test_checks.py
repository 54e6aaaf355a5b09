"""What is wrong with settings.TASKS is told by `manage.py check`."""

from __future__ import annotations

from django.conf import settings
from django.core.checks import run_checks
from django.test import override_settings

from jobs_app.tasks_backend import library
from jobs_app.tasks_backend.library import task_backends


def ids() -> set[str | None]:
    return {message.id for message in run_checks()}


def without(app: str) -> override_settings:
    return override_settings(INSTALLED_APPS=[name for name in settings.INSTALLED_APPS if name != app])


def test_a_project_where_all_is_well_is_told_nothing() -> None:
    assert not ids() & {"jobs_app.E010", "jobs_app.W016"}


def test_the_backend_without_the_app_is_an_error() -> None:
    backend = task_backends["default"]
    with without("jobs_app"):
        assert [message.id for message in backend.check()] == ["jobs_app.E010"]


def test_the_package_that_is_no_installed_app_is_missed() -> None:
    with without("django_tasks"):
        assert ("jobs_app.W016" in ids()) is not library.IS_DJANGO
