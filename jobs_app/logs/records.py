"""Which worker and which job a log line belongs to, for every logger and every thread of a job; and what it tells."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from jobs_app.current import active
from jobs_app.text import one_line

if TYPE_CHECKING:
    from jobs_app.lifecycle.claim import ClaimedJob

_worker = ""


def name_worker(short_id: str) -> None:
    """Once at start: the name this process's lines carry."""
    global _worker
    _worker = short_id


class JobFilter(logging.Filter):
    """Adds `worker`, `job` and `where` (both in brackets, empty outside of jobs) to each record.

    In LOGGING: {"filters": {"jobs": {"()": "jobs_app.logs.JobFilter"}}}.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        job = active.get()
        record.worker = _worker
        record.where = (f"[Worker {_worker}] " if _worker else "") + (f"[Job {job.id}] " if job else "")
        if not hasattr(record, "job"):  # a line about a job is its own, whoever writes it
            record.job = str(job.id) if job else ""
        return True


def event(name: str, **facts: Any) -> dict[str, Any]:
    """For `extra=`: the name of what happened, for programs to look for, and its facts. docs/logging.md has them all.

    Never a payload: it may hold secrets. An error is told by its text, which a foreign one may refuse to give.
    """
    told = {key: one_line(fact) if isinstance(fact, BaseException) else fact for key, fact in facts.items()}
    return {"event": name, **told}


def about(job: ClaimedJob) -> dict[str, Any]:
    """The facts of a line that is about one job."""
    return {
        "job": str(job.id),
        "job_type": job.job_type,
        "queue": job.queue,
        "subject": job.subject,
        "attempt": job.counted_attempts,
    }
