"""The start of the app: it finds jobs, refuses broken ones, starts nothing and touches no database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from jobs_app import job
from jobs_app.apps import project_packages
from jobs_app.errors import SettingsInvalid
from jobs_app.registry import registry

ROOT = Path(__file__).parent.parent
DEFINES = "from jobs_app import job\n\n@job(name={name!r})\ndef handler(): ...\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes importable packages, each with the text of its `jobs` module."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, jobs: str | None) -> None:
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        if jobs is not None:
            (folder / "jobs.py").write_text(jobs)

    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        del sys.modules[name]


def start() -> None:
    apps.get_app_config("jobs_app").ready()


@pytest.mark.spec("S2.34")
def test_jobs_of_an_installed_app_are_found(package: Any, settings: Any) -> None:
    package("shop_with_jobs", DEFINES.format(name="ship"))
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "shop_with_jobs"]  # starts every app again
    assert "ship" in registry


def test_jobs_of_the_project_package_are_found(package: Any, settings: Any) -> None:
    package("site_with_jobs", DEFINES.format(name="tidy"))
    settings.ROOT_URLCONF = "site_with_jobs.urls"
    start()
    assert "tidy" in registry


def test_packages_without_jobs_are_fine(package: Any, settings: Any) -> None:
    package("site_without_jobs", None)
    settings.ROOT_URLCONF = "site_without_jobs.urls"
    start()


def test_a_broken_jobs_module_stops_the_start(package: Any, settings: Any) -> None:
    package("site_with_fault", "import nothing_of_this_name\n")
    settings.ROOT_URLCONF = "site_with_fault.urls"
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        start()


def test_autodiscovery_has_another_name_or_none(package: Any, settings: Any) -> None:
    package("site_with_choice", DEFINES.format(name="unwanted"))
    settings.ROOT_URLCONF = "site_with_choice.urls"
    settings.JOBS = {"AUTODISCOVER": ""}
    start()
    settings.JOBS = {"AUTODISCOVER": "background"}
    start()
    assert "unwanted" not in registry


def test_wrong_settings_stop_the_start_of_what_runs_no_checks(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECOND": 30}
    with pytest.raises(SettingsInvalid, match="LEASE_SECONDS"):
        start()


@pytest.mark.parametrize("command", ["check", "migrate --plan", "runworker --once", "runscheduler --once"])
def test_wrong_settings_are_told_by_the_checks_of_a_command_and_not_by_a_traceback(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *command.split(), "--settings", "tests.misspelt_settings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "(jobs_app.E001) settings.JOBS has no 'LEASE_SECOND'. Did you mean 'LEASE_SECONDS'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_verbs_that_need_the_settings_say_in_a_line_what_is_wrong_with_them() -> None:
    arguments = ["manage.py", "jobs", "status", "--settings", "tests.misspelt_settings"]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == "CommandError: settings.JOBS has no 'LEASE_SECOND'. Did you mean 'LEASE_SECONDS'?\n"


def test_a_job_can_be_defined_whatever_the_settings_are(settings: Any) -> None:
    """Modules of a project define some before anybody could tell."""
    settings.JOBS = {"LEASE_SECOND": 30}

    @job
    def ship(order: int) -> None: ...

    with pytest.raises(SettingsInvalid, match="LEASE_SECONDS"):
        ship.enqueue(order=1)


def test_the_project_is_around_urls_and_settings(settings: Any) -> None:
    settings.ROOT_URLCONF = "shop.config.urls"
    settings.SETTINGS_MODULE = "config.settings.production"
    assert project_packages() == ["shop.config", "shop", "config.settings", "config"]
    settings.ROOT_URLCONF = "urls"
    settings.SETTINGS_MODULE = None
    assert project_packages() == []


ALONE = """
import django
from django.conf import settings

import jobs_app
from jobs_app import Backoff, Retry, current_job, errors, get_run, job, trigger

settings.configure(
    INSTALLED_APPS=["jobs_app"],
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/at/all"}},
)

@job(backoff=Backoff(base=60))
def before_setup(user_id: int): ...

django.setup()
import threading
from django.db import connection
assert connection.connection is None, "the start touched the database"
assert threading.active_count() == 1, "the start started a thread"
assert before_setup.name == "before_setup"
"""


def test_jobs_can_be_defined_before_the_apps_are_loaded_and_the_start_touches_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


WITHOUT_ADMIN = """
import sys

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=[*sys.argv[1:], "jobs_app"],
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": ":memory:",
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        }
    },
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()
from django.core.management import call_command
call_command("check", fail_level="WARNING")
call_command("migrate", verbosity=0)
call_command("jobs", "status", stderr=sys.stdout)
"""


@pytest.mark.parametrize("others", [[], ["django.contrib.contenttypes", "django.contrib.auth"]])
def test_a_project_without_the_admin_can_have_the_app(others: list[str]) -> None:
    """Django's check of templates imports the tags of the pages all the same."""
    command = [sys.executable, "-c", WITHOUT_ADMIN, *others]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
