"""What is counted for Prometheus of jobs that workers on other hosts run: by the web process that they call."""

from __future__ import annotations

from typing import Any

from jobs_app.counters import COMPLETED, DURATION, STARTED, WAIT, label_of_queue, label_of_type, outcome_of
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended


def count_started(job: ClaimedJob) -> None:
    STARTED.labels(label_of_type(job.job_type)).inc()
    WAIT.labels(label_of_queue(job.queue)).observe(max(0.0, (job.started_at - job.run_at).total_seconds()))


def count_ended(row: Any, ended: Ended) -> None:
    """`row` is the job as it was read under its lock, by the database's clock."""
    job_type = label_of_type(row.job_type)
    COMPLETED.labels(job_type, outcome_of(ended.state, ended.outcome)).inc()
    DURATION.labels(job_type).observe(max(0.0, (row.read_at - row.started_at).total_seconds()))
