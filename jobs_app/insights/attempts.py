"""The attempts of one run: every try, with how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import LIVE, JobAttempt, Run

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


class Tried(NamedTuple):
    """One attempt that has ended, as far as programs ask for it."""

    number: int
    worker_id: str
    outcome: str
    error_class: str
    message: str
    traceback: str


# Every attempt, because who counts them wants all of them; but of thousands only the last ones with what they said. As
# one value: a join repeats the payload, 301 ms and 203 MB for 200 kB of it and a thousand attempts in place of 3 ms.
WITH_ATTEMPTS = f"""
SELECT run.*,
       CAST((SELECT {{as_list}}({{as_row}}(
                    tried.number, tried.worker_id, tried.outcome, tried.error_class, tried.message,
                    CASE WHEN tried.number > run.attempts - {MOST_SHOWN} THEN tried.traceback ELSE '' END))
               FROM jobs_app_jobattempt AS tried WHERE tried.job_id = run.id) AS text) AS tried
  FROM jobs_app_run AS run WHERE run.id = %s
"""
AS_JSON = {
    "postgresql": {"as_list": "json_agg", "as_row": "json_build_array"},
    "sqlite": {"as_list": "json_group_array", "as_row": "json_array"},
}


def run_with_attempts(run_id: UUID) -> tuple[Run | None, list[Tried]]:
    """A run and every attempt of it that has ended, oldest first, in one statement."""
    connection = jobs_connection()
    wanted = Run._meta.pk.get_db_prep_value(run_id, connection)
    sql = WITH_ATTEMPTS.format(**AS_JSON[connection.vendor])
    rows: list[Any] = list(Run.objects.using(connection.alias).raw(sql, [wanted]))
    if not rows:
        return None, []
    # Live and ended where a slot was made anew, as in `runs.get`.
    run = min(rows, key=lambda row: row.state not in LIVE)
    return run, sorted(Tried(*each) for each in json.loads(run.tried or "[]"))


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
