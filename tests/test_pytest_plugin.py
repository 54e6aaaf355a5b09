"""The fixtures in a project of their own, found by the entry point as an installed package's are."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FILES = {
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = shop.settings\naddopts = -q -W error -p no:cacheprovider\n",
    "shop/__init__.py": "",
    "shop/settings.py": """
SECRET_KEY = "for tests only"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = ["jobs_app"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
""",
    "shop/jobs.py": """
from jobs_app import Backoff, current_job, job

@job(backoff=Backoff(base=60, factor=1, jitter="none"))
def charge(amount: int) -> str:
    if amount > 100 and current_job().attempt == 1:
        raise ConnectionError("the bank is away")
    receipt.options(delay="1d").enqueue(amount=amount)
    return "paid"

@job
def receipt(amount: int) -> None: ...
""",
    "test_shop.py": """
import pytest
from shop.jobs import charge, receipt

def test_a_job_runs(run_jobs, enqueued_jobs):
    charge.enqueue(amount=5)
    assert run_jobs().succeeded[0].result == "paid"
    assert len(enqueued_jobs(receipt, payload={"amount": 5}, delay="1d")) == 1

def test_the_next_test_begins_empty(enqueued_jobs, run_jobs):
    assert enqueued_jobs() == []
    assert not run_jobs()

@pytest.mark.django_db(transaction=True)
def test_without_a_transaction(run_jobs, jobs_clock):
    charge.enqueue(amount=500)
    with pytest.raises(ConnectionError):
        run_jobs()
    jobs_clock.move("1m")
    assert run_jobs().succeeded[0].result == "paid"
    jobs_clock.move("1d")
    assert [run.job_type for run in run_jobs()] == ["receipt"]

def test_the_clock_goes_on_after_the_test_that_froze_it(db):
    from datetime import datetime, timedelta, timezone
    from django.db import connection
    from jobs_app.lifecycle.database import database_now
    assert abs(datetime.now(timezone.utc) - database_now(connection)) < timedelta(hours=1)
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for the path of Python in which the package looks installed, entry points and all."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    info = tmp_path / "installed" / "jobs_app-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jobs-app\nVersion: 0\n")
    lines = [f"{name} = {path}" for name, path in declared.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return info.parent


def run(folder: Path, *command: str, path: list[Path]) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "PYTEST"))}
    environment["PYTHONPATH"] = os.pathsep.join(str(each) for each in path)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_uses_the_fixtures(project: Path, installed: Path) -> None:
    told = run(project, "-m", "pytest", path=[installed, ROOT, project])

    assert "4 passed" in told


def test_the_fixtures_are_listed_with_what_they_do(project: Path, installed: Path) -> None:
    told = run(project, "-m", "pytest", "--fixtures", path=[installed, ROOT, project])

    assert "run what is due, inside the test" in told
    assert all(f"{name} -- " in told for name in ("run_jobs", "enqueued_jobs", "jobs_clock"))


def test_a_project_without_django_is_not_disturbed(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\ndef test_plain():\n    assert 'jobs_app.pytest_plugin' in sys.modules\n"
        "    assert 'django' not in sys.modules\n"
    )

    told = run(tmp_path, "-m", "pytest", "-q", "-p", "no:django", "test_plain.py", path=[installed, ROOT])
    assert "1 passed" in told


def test_the_helpers_can_be_imported_in_production(project: Path) -> None:
    script = """
import os, sys, threading
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
import django
django.setup()
start = threading.Thread.start
import jobs_app.testing
assert not {"pytest", "unittest"} & set(sys.modules), "test frameworks were imported"
assert threading.Thread.start is start
assert threading.active_count() == 1
"""
    run(project, "-c", script, path=[ROOT, project])
