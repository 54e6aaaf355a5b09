"""What is wrong with settings.TASKS is told by `manage.py check`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.test import override_settings

from jobs_app.tasks_backend import checks, discovery, library

ROOT = Path(__file__).resolve().parents[2]


def ids() -> set[str | None]:
    return {message.id for message in run_checks(tags=["jobs_app"])}


def without(app: str) -> override_settings:
    return override_settings(INSTALLED_APPS=[name for name in settings.INSTALLED_APPS if name != app])


def test_a_project_where_all_is_well_is_told_nothing() -> None:
    assert not ids() & {"jobs_app.E010", "jobs_app.E011", "jobs_app.W016", "jobs_app.W018"}


WITHOUT_APP = """
from django.conf import settings
settings.configure(TASKS={"default": {"BACKEND": "jobs_app.tasks_backend.JobsBackend"}}, INSTALLED_APPS=[%s])
import django
django.setup()
from jobs_app.tasks_backend.library import task, task_backends
print([message.id for message in task_backends["default"].check()])
try:
    task(django.setup).enqueue()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_backend_without_the_app_is_an_error() -> None:
    """In a process of its own: here the models are loaded already."""
    installed = "" if library.IS_DJANGO else "'django_tasks'"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_APP % installed], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ids, error = done.stdout.splitlines()
    assert ids == "['jobs_app.E010']"
    assert error.startswith("ImproperlyConfigured ")
    assert "Add 'jobs_app' to INSTALLED_APPS" in error


def test_a_project_without_a_library_of_tasks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "jobs_app.E011" not in ids()
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    assert "jobs_app.E011" in ids()
    with override_settings(TASKS={"default": {"BACKEND": "another.Backend"}}):
        assert "jobs_app.E011" not in ids()


def test_a_module_that_was_left_out_is_told() -> None:
    discovery.left_out["shop.tasks"] = "No module named 'celery'"
    try:
        [message] = [message for message in run_checks(tags=["jobs_app"]) if message.id == "jobs_app.W018"]
    finally:
        discovery.left_out.clear()
    assert "shop.tasks cannot be imported, and its tasks are unknown here: No module named 'celery'" in message.msg


def test_the_package_that_is_no_installed_app_is_missed() -> None:
    with without("django_tasks"):
        assert ("jobs_app.W016" in ids()) is not library.IS_DJANGO
