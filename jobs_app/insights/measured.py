"""How long jobs take, from the newest runs in history. Every query reads a bounded number of rows, by an index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.lifecycle.database import is_postgres, pinned_transaction
from jobs_app.models import JobRun, State

LOOK_BACK = timedelta(days=7)
MOST_RUNS = 500  # the newest of a job type, or of a schedule
LEAST_RUNS = 20  # of a subject's own; with fewer there is no 95th of a hundred

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


def seconds_of_type(connection: BaseDatabaseWrapper, job_type: str, *, now: datetime) -> list[float]:
    """What each of its newest runs took, the newest first."""
    runs = JobRun.objects.using(connection.alias).filter(job_type=job_type, queued_at__gte=now - LOOK_BACK)
    return _seconds(_newest(connection, runs.order_by("-queued_at")))


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
    """Pinned, since a history without fresh statistics is otherwise read as a whole and sorted."""
    with pinned_transaction(connection) if is_postgres(connection) else nullcontext():
        return [_Run(*row) for row in runs.values_list(*_Run._fields)[:MOST_RUNS]]


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
