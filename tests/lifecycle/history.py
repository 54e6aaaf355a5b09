"""Finished runs of any age, with what belongs to them, as if retention had found them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from random import getrandbits
from typing import Any
from uuid import UUID, uuid4

from jobs_app import job
from jobs_app.models import JobAttempt, JobItem, JobRun
from jobs_app.registry import registry
from tests.lifecycle.rows import T


def days_ago(days: float) -> datetime:
    return T - timedelta(days=days)


def work() -> None:
    """The type of runs that have no other; a type that no process knows is kept longer."""


def finished(days: float = 0, state: str = "succeeded", *, attempts: int = 1, items: int = 0, **changes: Any) -> UUID:
    """One run that ended so many days before T."""
    if "work" not in registry:
        job(work)
    at = days_ago(days)
    given = {"id": id_at(at), "job_type": "work", "queue": "default", "max_attempts": 5, "payload": {}}
    moments = {"run_at": at, "queued_at": at, "finished_at": at}
    run = JobRun.objects.create(**(given | moments | {"state": state} | changes))
    add_attempts(run.id, at, attempts)
    JobItem.objects.bulk_create([JobItem(job_id=run.id, key=f"item-{n}", data={}) for n in range(items)])
    return run.id


def add_attempts(run_id: UUID, at: datetime, count: int = 1) -> None:
    facts = {"token": uuid4(), "outcome": "success", "success": True, "started_at": at, "finished_at": at}
    JobAttempt.objects.bulk_create([JobAttempt(job_id=run_id, number=n + 1, **facts) for n in range(count)])


def id_at(moment: datetime) -> UUID:
    """Sorts by time, as the ids of runs do."""
    return UUID(int=(int(moment.timestamp() * 1000) << 80) | getrandbits(80))


def left() -> set[UUID]:
    return set(JobRun.objects.values_list("id", flat=True))


def parts_of(runs: Iterable[UUID]) -> tuple[int, int]:
    """Attempts and items of these runs."""
    ids = list(runs)
    return JobAttempt.objects.filter(job_id__in=ids).count(), JobItem.objects.filter(job_id__in=ids).count()


def nothing_is_half() -> bool:
    """Every run has its attempt, and every attempt and item its run."""
    runs = left()
    owners = set(JobAttempt.objects.values_list("job_id", flat=True))
    return runs == owners and runs >= set(JobItem.objects.values_list("job_id", flat=True))
