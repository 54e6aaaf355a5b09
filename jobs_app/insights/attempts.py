"""The attempts of one run: every try, with how it ended."""

from __future__ import annotations

from uuid import UUID

from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import JobAttempt

MOST_SHOWN = 50


def of_run(run_id: UUID, *, limit: int = MOST_SHOWN) -> list[JobAttempt]:
    """The last attempts that have ended, oldest first."""
    rows = JobAttempt.objects.using(jobs_connection().alias).filter(job_id=run_id)
    return list(rows.order_by("-number")[:limit])[::-1]
