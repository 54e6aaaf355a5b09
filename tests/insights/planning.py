"""Schedules, runs of a known length and workers, in one line each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import JobRun, ScheduleState
from tests.lifecycle.history import id_at
from tests.lifecycle.rows import T, at


def schedule(job_type: str, subject: str = "", *, per_hour: float | None = None, **columns: Any) -> ScheduleState:
    if per_hour is not None:
        columns["interval_seconds"] = 3600 / per_hour
    return ScheduleState.objects.create(job_type=job_type, subject=subject, next_run_at=T, **columns)


def ran(job_type: str, minutes: Iterable[float], *, ended_at: datetime = T, **columns: Any) -> None:
    """One run for each length; the first is the newest."""
    runs = []
    for number, length in enumerate(minutes):
        end = ended_at - timedelta(seconds=number)
        start = end - timedelta(minutes=length)
        given = {"id": id_at(end), "job_type": job_type, "queue": "default", "state": "succeeded", "max_attempts": 1}
        moments = {"run_at": end, "queued_at": end, "started_at": start, "finished_at": end}
        runs.append(JobRun(**(given | moments | {"payload": {}} | columns)))
    JobRun.objects.bulk_create(runs)


def worker(name: str, slots: int, *job_types: str, seconds: float = 0, **columns: Any) -> None:
    """Alive at T, unless it was seen before."""
    with at(seconds):
        announce(connection, Presence(id=name, concurrency=slots, job_types=job_types, **columns))


class EveryMinutes:
    """In the place of the module that reads crons: `*/7` has a slot every seven minutes."""

    def __init__(self, expression: str, timezone: str) -> None:
        self._step = timedelta(minutes=float(expression.removeprefix("*/")))  # else ValueError, as it has to be

    def after(self, moment: datetime) -> datetime:
        return moment + self._step
