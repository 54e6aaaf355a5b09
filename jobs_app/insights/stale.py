"""Which runs stand still, why, what would become of them, and what was done about others without a person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.ids import uuid7
from jobs_app.lifecycle.database import is_postgres, pinned_reading, read_moment, read_uuid, sqlite_time
from jobs_app.lifecycle.stale import KINDS, Stale, find_stale
from jobs_app.models import ControlEvent, JobRun, WorkerState
from jobs_app.registry import SYSTEM_NAMES

MOST_SHOWN = 200
MOST_LOST = 50
NEWEST_ATTEMPTS = 20_000  # looked through for lost ones: there is no index of how attempts ended
DAY = timedelta(days=1)
RECONCILER = f"{SYSTEM_NAMES}reconcile"  # the chore, as an actor and as a job type

# By the key, which begins with the time of the job. Cut before it is filtered, which the ORM cannot say.
LOST = """
SELECT job_id, number, worker_id, finished_at, error_class, message
  FROM (SELECT job_id, number, worker_id, finished_at, error_class, message, outcome FROM jobs_app_jobattempt
         WHERE job_id >= %(first)s ORDER BY job_id DESC, number DESC LIMIT %(among)s) AS newest
 WHERE outcome = 'lost' AND finished_at >= %(since)s ORDER BY finished_at DESC, job_id LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True)
class LostAttempt:
    """An attempt whose worker went silent: given back or ended by whoever looked next."""

    run_id: UUID
    number: int
    worker_id: str
    at: datetime
    error_class: str
    message: str


def stale_runs(
    connection: BaseDatabaseWrapper, *, kinds: Collection[str] = KINDS, limit: int = MOST_SHOWN
) -> list[Stale]:
    """Those that stand still for longest, each with its verdict. Nothing is moved: `control.reconcile` does that."""
    return find_stale(connection, kinds)[:limit]


def names_of(connection: BaseDatabaseWrapper, workers: Collection[str]) -> dict[str, str]:
    """Of workers that are there, or were a day ago, by id: a name or a host is easier to know again."""
    rows = WorkerState.objects.using(connection.alias).filter(pk__in=set(workers))
    return {row.pk: row.name or f"{row.host} {row.pid}" for row in rows.only("name", "host", "pid")}


def lost_attempts(
    connection: BaseDatabaseWrapper, now: datetime, *, limit: int = MOST_LOST, among: int = NEWEST_ATTEMPTS
) -> list[LostAttempt]:
    """Of jobs of the last day, newest first, among the newest attempts. Every process recovers them, without a
    person."""
    since = now - DAY
    first = uuid7(int(since.timestamp() * 1000), bytes(10))
    given: dict[str, Any] = {"first": first, "since": since}
    if not is_postgres(connection):
        given = {"first": first.hex, "since": sqlite_time(since)}
    with pinned_reading(connection), connection.cursor() as cursor:
        cursor.execute(LOST, given | {"among": among, "limit": limit})
        return [_lost(row) for row in cursor.fetchall()]


def _lost(row: tuple[Any, ...]) -> LostAttempt:
    run_id, number, worker_id, at, error_class, message = row
    return LostAttempt(
        run_id=read_uuid(run_id),
        number=number,
        worker_id=worker_id,
        at=read_moment(at),
        error_class=error_class,
        message=message,
    )


def done_by_itself(connection: BaseDatabaseWrapper, now: datetime, *, limit: int = MOST_LOST) -> list[ControlEvent]:
    """What the app's own chore moved on in the last day, newest first."""
    rows = ControlEvent.objects.using(connection.alias).filter(at__gte=now - DAY, actor=RECONCILER)
    with pinned_reading(connection):
        return list(rows.order_by("-at", "-id")[:limit])


def last_check(connection: BaseDatabaseWrapper) -> datetime | None:
    """When the chore last looked, by itself."""
    rows = JobRun.objects.using(connection.alias).filter(job_type=RECONCILER)
    return rows.order_by("-queued_at", "-id").values_list("finished_at", flat=True).first()
