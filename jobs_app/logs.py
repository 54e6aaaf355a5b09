"""Which worker and which job a log line belongs to: one filter, for every logger and every thread of a job."""

from __future__ import annotations

import logging

from jobs_app.current import active
from jobs_app.text import one_line

FORMAT = "[%(asctime)s] %(where)s%(levelname)s %(message)s"
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
        record.job = str(job.id) if job else ""
        record.where = (f"[Worker {_worker}] " if _worker else "") + (f"[Job {job.id}] " if job else "")
        return True


class OneLineFormatter(logging.Formatter):
    """What a job logs cannot forge a line of its own: control characters are escaped, the traceback stays readable."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)


def configure(level: int) -> None:
    """Log to standard error if the host project configured nothing of its own for us or for the root logger."""
    logger = logging.getLogger("jobs_app")
    if logger.handlers or logging.getLogger().handlers:
        return
    logger.setLevel(level)
    handler = logging.StreamHandler()
    handler.addFilter(JobFilter())
    handler.setFormatter(OneLineFormatter(FORMAT))
    logging.getLogger().addHandler(handler)
