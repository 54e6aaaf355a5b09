"""The news that an attempt has ended, once that is stored."""

from __future__ import annotations

import logging

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended
from jobs_app.logs import about, event
from jobs_app.registry import JobType, registry
from jobs_app.signals import job_finished

logger = logging.getLogger("jobs_app.worker")


def tell(job: ClaimedJob, ended: Ended, worker_id: str) -> None:
    """All of it, where no finisher tells it of many at once."""
    if ended.state == "failed":
        say_failed(job, ended)
    if job_finished.receivers:
        tell_finished(registry.find(job.job_type), job, ended, worker_id)


def tell_finished(job_type: JobType | None, job: ClaimedJob, ended: Ended, worker_id: str) -> None:
    job_finished.tell(job_type, job=job, ended=ended, worker_id=worker_id)
    ended.raised = (
        None  # its frames hold all that the handler had, and us: nobody but the garbage collector would end that
    )


def say_failed(job: ClaimedJob, ended: Ended) -> None:
    facts = event("job_failed", **about(job), outcome=ended.outcome, duration_ms=_duration_ms(ended), error=ended.error)
    logger.warning("job=%s type=%s failed: %s", ended.id, job.job_type, ended.error, extra=facts)


def say_refused(job: ClaimedJob, ended: Ended) -> None:
    facts = event("report_refused", **about(job), outcome=ended.outcome, duration_ms=_duration_ms(ended))
    logger.warning("job=%s lost its lease; its %s is not recorded", ended.id, ended.outcome, extra=facts)


def _duration_ms(ended: Ended) -> int | None:
    """None: it never started."""
    return None if ended.started_ago is None else round((ended.started_ago - ended.finished_ago) * 1000)
