"""How long jobs take, from the newest runs in history. Every query reads a bounded number of rows, by an index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.lifecycle.bounded import held
from jobs_app.lifecycle.database import is_postgres, pinned_reading, read_moment, sqlite_time
from jobs_app.models import JobRun, State

LOOK_BACK = timedelta(days=7)
MOST_RUNS = 500  # the newest of a job type, or of a schedule
LEAST_RUNS = 20  # of a subject's own; with fewer there is no 95th of a hundred

TYPES_PER_QUERY = 100
# The type leads the order, and is compared with a list, so that only the index that begins with it will do.
NEWEST_OF_TYPE = """
SELECT job_type, state, queued_at, started_at, finished_at FROM jobs_app_jobrun
 WHERE job_type IN (%s, %s) AND queued_at >= %s ORDER BY job_type DESC, queued_at DESC, id DESC LIMIT %s
"""

TIMED = (State.SUCCEEDED, State.FAILED)  # one that was cancelled tells when somebody lost patience


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Seconds from the start of the last attempt to the end: half of the runs took p50 at most, 95 of 100 p95."""

    runs: int
    p50: float
    p95: float


class _Run(NamedTuple):
    state: str
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime


def of_type(connection: BaseDatabaseWrapper, job_type: str, *, now: datetime) -> Duration | None:
    """None: no run of it ended lately."""
    return _duration(seconds_of_type(connection, job_type, now=now))


def of_types(connection: BaseDatabaseWrapper, job_types: Sequence[str], *, now: datetime) -> dict[str, Duration | None]:
    """The same for many, with a query for a hundred of them."""
    found: dict[str, list[_Run]] = {name: [] for name in job_types}
    for start in range(0, len(job_types), TYPES_PER_QUERY):
        names = job_types[start : start + TYPES_PER_QUERY]
        # Each is cut by itself, which neither a GROUP BY nor the ORM can say for both databases.
        sql = " UNION ALL ".join([f"SELECT * FROM ({NEWEST_OF_TYPE}) AS newest"] * len(names))
        given = [
            value for name in names for value in (name, name, _stored_moment(connection, now - LOOK_BACK), MOST_RUNS)
        ]
        with pinned_reading(connection), connection.cursor() as cursor:
            cursor.execute(sql, given)
            for job_type, state, *moments in cursor.fetchall():
                found[job_type].append(_Run(state, *(moment and read_moment(moment) for moment in moments)))
    return {name: _duration(_seconds(runs)) for name, runs in found.items()}


def seconds_of_type(connection: BaseDatabaseWrapper, job_type: str, *, now: datetime) -> list[float]:
    """What each of its newest runs took, the newest first."""
    its = held("job_type", job_type, JobRun)
    runs = JobRun.objects.using(connection.alias).filter(its, queued_at__gte=now - LOOK_BACK)
    return _seconds(_newest(connection, runs.order_by("-job_type", "-queued_at", "-id")))


def of_schedules(connection: BaseDatabaseWrapper, schedules: Iterable[int], *, now: datetime) -> Duration | None:
    """Of these schedules together; None where too few runs of theirs ended lately."""
    found: list[float] = []
    for schedule in schedules:
        runs = JobRun.objects.using(connection.alias).filter(schedule=schedule)
        newest = _newest(connection, runs.order_by("-id"))
        found += _seconds(run for run in newest if run.queued_at >= now - LOOK_BACK)
    return _duration(found) if len(found) >= LEAST_RUNS else None


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of them does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _newest(connection: BaseDatabaseWrapper, runs: QuerySet[JobRun]) -> list[_Run]:
    with pinned_reading(connection):
        return [_Run(*row) for row in runs.values_list(*_Run._fields)[:MOST_RUNS]]


def _stored_moment(connection: BaseDatabaseWrapper, moment: datetime) -> Any:
    return moment if is_postgres(connection) else sqlite_time(moment)


def _seconds(runs: Iterable[_Run]) -> list[float]:
    """Chosen here and not in SQL, which would read on until it had found enough."""
    return [
        max(0.0, (run.finished_at - run.started_at).total_seconds())
        for run in runs
        if run.started_at is not None and run.state in TIMED
    ]


def _duration(seconds: list[float]) -> Duration | None:
    if not seconds:
        return None
    ordered = sorted(seconds)
    return Duration(runs=len(ordered), p50=percentile(ordered, 0.5), p95=percentile(ordered, 0.95))
