"""The app is optional: a project without it, and one that has it and starts no worker, pay nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

WITHOUT = """
import django
from django.conf import settings

settings.configure(INSTALLED_APPS=[], USE_TZ=True)
django.setup()

from jobs_app import job

@job(queue="mail", preset="plane")
def add(a: int, b: int = 1) -> int:
    return a + b

assert add(2, b=3) == 5
"""

WITH = """
import threading

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["jobs_app"],
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/at/all"}},
)
django.setup()

from django.db import connection

assert connection.connection is None, "the start asked the database"
assert threading.active_count() == 1, "the start started a thread"
"""


@pytest.mark.spec("S2.5")
@pytest.mark.parametrize("project", [WITHOUT, WITH], ids=["not installed", "installed"])
def test_a_project_that_starts_no_worker_pays_nothing(project: str) -> None:
    done = subprocess.run([sys.executable, "-c", project], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
