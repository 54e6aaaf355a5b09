"""How much waits, runs and ended. Every query is bounded, however large the backlog or the history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Q

from jobs_app.lifecycle.database import database_now, is_postgres, read_moment, sqlite_time
from jobs_app.lifecycle.lanes import find_lanes
from jobs_app.lifecycle.relation import relation
from jobs_app.models import FINISHED, Job, JobRun, State
from jobs_app.registry import SYSTEM_QUEUE, registry

MOST_WAITING = 100_000  # rows looked at; beyond it the numbers are "at least"
MOST_ENDED = 100_000


@dataclass(kw_only=True)
class QueueCounts:
    queue: str
    queued: int = 0  # due, never tried
    scheduled: int = 0  # due later, never tried
    retrying: int = 0  # tried before
    held: int = 0  # of these three: waits for its key, for a limit, or for the end of a pause
    running: int = 0
    oldest_due_at: datetime | None = None
    oldest_priority: int = 0  # of the one that is due since then

    @property
    def waiting(self) -> int:
        return self.queued + self.scheduled + self.retrying


@dataclass(frozen=True, kw_only=True)
class LiveCounts:
    at: datetime
    queues: list[QueueCounts]
    is_capped: bool  # more waits than was counted


@dataclass(frozen=True, kw_only=True)
class EndedCounts:
    since: datetime
    states: dict[str, int]
    is_capped: bool


# The sample is cut before it is grouped, which the ORM cannot say.
WAITING = """
SELECT queue, sum(CASE WHEN attempts = 0 AND run_at <= %(now)s THEN 1 ELSE 0 END),
       sum(CASE WHEN attempts = 0 AND run_at > %(now)s THEN 1 ELSE 0 END),
       sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END), sum(CASE WHEN hold <> '' THEN 1 ELSE 0 END)
  FROM (SELECT queue, attempts, run_at, hold FROM jobs_app_job WHERE state = 'queued' LIMIT %(limit)s) AS waiting
 GROUP BY queue
"""
OLDEST = """
SELECT lane.queue, lane.priority, (SELECT run_at FROM jobs_app_job AS job
       WHERE job.queue = lane.queue AND job.priority = lane.priority AND state = 'queued' AND hold = ''
       ORDER BY run_at LIMIT 1)
  FROM ({lanes}) AS lane
"""


def live(connection: BaseDatabaseWrapper, *, limit: int = MOST_WAITING) -> LiveCounts:
    """What each queue holds now; queues of known job types are there also when they are empty."""
    now = database_now(connection)
    found = {name: QueueCounts(queue=name) for name in _declared_queues()}
    for name, queued, scheduled, retrying, held in _waiting(connection, now, limit + 1):
        found[name] = QueueCounts(queue=name, queued=queued, scheduled=scheduled, retrying=retrying, held=held)
    for name, running in _running(connection):
        found.setdefault(name, QueueCounts(queue=name)).running = running
    for name, (oldest, priority) in oldest_due(connection, now).items():
        queue = found.setdefault(name, QueueCounts(queue=name))
        queue.oldest_due_at, queue.oldest_priority = oldest, priority
    queues = [found[name] for name in sorted(found)]
    return LiveCounts(at=now, queues=queues, is_capped=sum(each.waiting for each in queues) > limit)


def ended(connection: BaseDatabaseWrapper, *, hours: float = 24, limit: int = MOST_ENDED) -> EndedCounts:
    """How the runs of the last hours ended, but for the app's own chores."""
    since = database_now(connection) - timedelta(hours=hours)
    runs = JobRun.objects.using(connection.alias).filter(finished_at__gte=since).exclude(queue=SYSTEM_QUEUE)
    runs = runs.order_by()[: limit + 1]
    states = runs.aggregate(**{str(state): Count("pk", filter=Q(state=state)) for state in FINISHED})
    return EndedCounts(since=since, states=states, is_capped=sum(states.values()) > limit)


def _declared_queues() -> set[str]:
    return {job_type.queue for job_type in registry} - {SYSTEM_QUEUE}


def _waiting(connection: BaseDatabaseWrapper, now: datetime, limit: int) -> list[tuple[Any, ...]]:
    moment = now if is_postgres(connection) else sqlite_time(now)
    with connection.cursor() as cursor:
        cursor.execute(WAITING, {"now": moment, "limit": limit})
        return cursor.fetchall()


def _running(connection: BaseDatabaseWrapper) -> list[tuple[str, int]]:
    """Bounded by the slots of all workers."""
    rows = Job.objects.using(connection.alias).filter(state=State.RUNNING)
    return list(rows.order_by().values_list("queue").annotate(Count("pk")))


def oldest_due(connection: BaseDatabaseWrapper, now: datetime) -> dict[str, tuple[datetime, int]]:
    """With its priority. One step into the claim index per lane, so it is right whatever the backlog."""
    lanes = find_lanes(connection)
    if not lanes:
        return {}
    rows, parameters = relation(connection, {"queue": "text", "priority": "int"}, lanes)
    with connection.cursor() as cursor:
        cursor.execute(OLDEST.format(lanes=rows), parameters)
        found = [(queue, read_moment(at), priority) for queue, priority, at in cursor.fetchall() if at]
    oldest: dict[str, tuple[datetime, int]] = {}
    for queue, at, priority in found:
        if at <= now:
            oldest[queue] = min((at, priority), oldest.get(queue, (at, priority)))
    return oldest
