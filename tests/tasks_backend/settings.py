"""The test project as worker processes see it: with tasks of its own, quick to notice a silent worker."""

from __future__ import annotations

from tests.settings import *  # noqa: F403

ROOT_URLCONF = "tests.tasks_backend.urls"
JOBS = {"RECOVER_SECONDS": 0.5, "AUTODISCOVER": ""}
