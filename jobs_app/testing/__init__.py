"""For the tests of projects: run what is due without a worker, look at what is enqueued, set the clock."""

from __future__ import annotations

from jobs_app.testing.clock import Clock, freeze_clock
from jobs_app.testing.enqueued import assert_enqueued, assert_not_enqueued, enqueued_jobs
from jobs_app.testing.handlers import run_job
from jobs_app.testing.running import RanJobs, run_jobs

__all__ = [
    "Clock",
    "RanJobs",
    "assert_enqueued",
    "assert_not_enqueued",
    "enqueued_jobs",
    "freeze_clock",
    "run_job",
    "run_jobs",
]
