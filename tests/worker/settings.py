"""The test project as worker processes see it: with the sample jobs, and quick to notice a silent worker."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

JOBS = {
    "AUTODISCOVER": "sample_jobs",
    "RECOVER_SECONDS": float(os.environ.get("RECOVER_SECONDS", "0.5")),
    "TIMEOUT_GRACE_SECONDS": float(os.environ.get("TIMEOUT_GRACE_SECONDS", "5")),
}
