"""The news that an attempt has ended, once that is stored; and that a worker waits for some to end."""

from __future__ import annotations

import logging
from typing import Any

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended
from jobs_app.logs import about, event
from jobs_app.registry import JobType, registry
from jobs_app.runtime.stopping import IGNORE_SECONDS
from jobs_app.signals import job_finished

logger = logging.getLogger("jobs_app.worker")

FAILED_ATTEMPTS = ("error", "timeout", "crashed")  # the others go back on purpose: snoozed, deferred, interrupted


def tell(job: ClaimedJob, ended: Ended, worker_id: str) -> None:
    """All of it, where no finisher tells it of many at once."""
    say_failed(job, ended)
    if job_finished.receivers:
        tell_finished(registry.find(job.job_type), job, ended, worker_id)


def tell_finished(job_type: JobType | None, job: ClaimedJob, ended: Ended, worker_id: str) -> None:
    job_finished.tell(job_type, job=job, ended=ended, worker_id=worker_id)
    # Its frames hold all that the handler had, and us: nobody but the garbage collector would end that.
    ended.raised = None


def say_failed(job: ClaimedJob, ended: Ended) -> None:
    """For good, or to be tried again; nothing where neither is so."""
    if ended.state == "failed":
        facts = event("job_failed", **about(job), **_how(ended), error=ended.error)
        logger.warning("job=%s type=%s failed: %s", ended.id, job.job_type, ended.error, extra=facts)
    elif ended.state == "queued" and ended.outcome in FAILED_ATTEMPTS:
        _say_retried(job, ended)


def say_refused(job: ClaimedJob, ended: Ended) -> None:
    facts = event("report_refused", **about(job), **_how(ended))
    logger.warning("job=%s lost its lease; its %s is not recorded", ended.id, ended.outcome, extra=facts)


def say_stopping(running: int, *, grace: float) -> None:
    """Whoever pressed Ctrl-C should know that nothing hangs."""
    facts = event("worker_stopping", count=running, grace_seconds=grace)
    they, them = ("job runs, it has", "it") if running == 1 else ("jobs run, they have", "them")
    text = "stopping: %s %s up to %g s; TERM or Ctrl-C once more, after %g s, releases %s"
    logger.info(text, running, they, grace, IGNORE_SECONDS, them, extra=facts)


def _say_retried(job: ClaimedJob, ended: Ended) -> None:
    delay = round(ended.delay, 3)
    facts = event("job_retried", **about(job), **_how(ended), error=ended.error, delay_seconds=delay)
    text = "job=%s type=%s attempt %s of %s failed: %s; again in %.0f s"
    tried = (job.counted_attempts, job.max_attempts)
    logger.warning(text, ended.id, job.job_type, *tried, ended.error, delay, extra=facts)


def _how(ended: Ended) -> dict[str, Any]:
    """No duration: it never started."""
    ago = ended.started_ago
    return {"outcome": ended.outcome, "duration_ms": None if ago is None else round((ago - ended.finished_ago) * 1000)}
