"""A project as its web server, its scheduler and its workers see it, whichever of them run."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.modes.urls"
JOBS = {
    "AUTODISCOVER": "mode_jobs",
    "METRICS_PUBLIC": True,
    "SCHEDULER_ENABLED": os.environ.get("SCHEDULER_ENABLED") != "false",
    "SCHEDULER_POLL_SECONDS": 0.5,
    "FINAL_SCRAPE_SECONDS": 0,
}
