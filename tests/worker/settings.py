"""The test project as worker processes see it: with the sample jobs, quick to notice a silent worker, and with the
app's own chores where a test wants them."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

JOBS = {
    "AUTODISCOVER": "sample_jobs",
    "RECOVER_SECONDS": float(os.environ.get("RECOVER_SECONDS", "0.5")),
    "AUTO_RECOVER": os.environ.get("AUTO_RECOVER") != "0",
    "SCHEDULER_ENABLED": os.environ.get("SCHEDULER_ENABLED") == "1",
    "TIMEOUT_GRACE_SECONDS": float(os.environ.get("TIMEOUT_GRACE_SECONDS", "5")),
}
