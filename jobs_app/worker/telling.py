"""The news that an attempt has ended, once that is stored, where no finisher tells it."""

from __future__ import annotations

import logging

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended
from jobs_app.registry import registry
from jobs_app.signals import job_finished

logger = logging.getLogger("jobs_app.worker")


def tell(job: ClaimedJob, ended: Ended) -> None:
    if ended.state == "failed":
        logger.warning("job=%s type=%s failed: %s", ended.id, job.job_type, ended.error)
    if job_finished.receivers:
        job_finished.send_robust(registry.find(job.job_type), job=job, ended=ended)
