"""The test project as a real web server, a worker and their clients see it."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

ALLOWED_HOSTS = ["127.0.0.1"]
JOBS = {
    "API_MAX_WAITING": int(os.environ.get("API_MAX_WAITING", "50")),
    "AUTODISCOVER": "remote_jobs",
    "SCHEDULER_ENABLED": False,
    "RECOVER_SECONDS": 0.5,
    "WORKER_LISTEN": os.environ.get("WORKER_LISTEN") != "0",
}
