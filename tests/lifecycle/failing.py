"""Jobs that fail for good, one or a thousand of them, and the chore that lets somebody be told."""

from __future__ import annotations

from typing import Any

from django.db import connection

from jobs_app.lifecycle import grouped
from jobs_app.lifecycle.finish import finish
from jobs_app.models import Job
from tests.lifecycle.rows import at, ended, stored, take


def fail(count: int = 1, job_type: str = "work", *, per_report: int = 200, **changes: Any) -> None:
    """Stored, claimed and reported in batches, as a worker does."""
    facts = {"error_class": "ValueError", "error": "no such card"} | changes
    stored(count, job_type=job_type)
    jobs = take(count, job_types=[job_type])
    assert len(jobs) == count
    for start in range(0, count, per_report):
        part = jobs[start : start + per_report]
        assert len(finish(connection, [ended(one, "failed", **facts) for one in part])) == len(part)


def tell(seconds: float) -> int:
    """As the chore does, so many seconds after T."""
    with at(seconds):
        return grouped.tell(connection)


def messages(job_type: str) -> list[dict[str, Any]]:
    """That wait to be sent, in the order in which they were made."""
    payloads = Job.objects.filter(job_type=job_type).order_by("id").values_list("payload", flat=True)
    return [payload["failures"] for payload in payloads]
