"""The attempts of one run: every try, with how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import JobAttempt

MOST_SHOWN = 50
PER_PAGE = 20
LOGS = ("traceback", "log_excerpt")


@dataclass(frozen=True)
class AttemptPage:
    """Some attempts, the newest first."""

    attempts: list[JobAttempt]
    older: int | None  # the next page has those before this number; None: there are none


def of_run(run_id: UUID, *, limit: int = MOST_SHOWN) -> list[JobAttempt]:
    """The last attempts that have ended, oldest first."""
    rows = JobAttempt.objects.using(jobs_connection().alias).filter(job_id=run_id)
    return list(rows.order_by("-number")[:limit])[::-1]


def page(
    connection: BaseDatabaseWrapper,
    run_id: UUID,
    *,
    before: int | None = None,
    with_logs: bool = True,
    limit: int = PER_PAGE,
) -> AttemptPage:
    """A run may be tried thousands of times. Without logs these are not even read."""
    rows = JobAttempt.objects.using(connection.alias).filter(job_id=run_id).order_by("-number")
    if before is not None:
        rows = rows.filter(number__lt=before)
    if not with_logs:
        rows = rows.defer(*LOGS)
    found = list(rows[: limit + 1])
    return AttemptPage(found[:limit], found[limit - 1].number if len(found) > limit else None)


def get(connection: BaseDatabaseWrapper, run_id: UUID, number: int) -> JobAttempt | None:
    return JobAttempt.objects.using(connection.alias).filter(job_id=run_id, number=number).first()
