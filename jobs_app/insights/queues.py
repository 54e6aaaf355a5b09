"""Queues as people look at them: how full, how fast, who serves them, what limits them and what stops them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.insights import counts
from jobs_app.insights.counts import QueueCounts
from jobs_app.insights.processes import ALIVE, status_of
from jobs_app.lifecycle.pauses import in_force
from jobs_app.lifecycle.rollups import ALL_ENDED, MINUTE, WIDTH, minute_of
from jobs_app.lifecycle.rules import read_rules
from jobs_app.limits import NO_RULES, QueueRules
from jobs_app.models import Pause, QueueState, Scope, StatSample, WorkerKind, WorkerState
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.serving import Serving

HOUR = 60  # minutes
PACE = 10  # minutes over which speed is told: one is too few to tell, an hour hides what has just begun
BEHIND_SECONDS = 120.0  # a due job that waits for longer makes its queue one that is behind
MOST_SAMPLED = 10_000  # waiting rows of one queue

PAUSED, UNSERVED, BEHIND, ACTIVE, IDLE = "paused", "unserved", "behind", "active", "idle"
WAITING, ENQUEUED, FINISHED = SERIES = ("waiting", "enqueued", "finished")

# Each part by the index that has it, cut before it is grouped. What is parked has none by queue: a part of all of it.
BACKLOG = """
SELECT job_type, subject, count(*) FROM (
  SELECT * FROM (SELECT queue, job_type, subject FROM jobs_app_job
                  WHERE state = 'queued' AND hold = '' AND queue = %(queue)s LIMIT %(limit)s) AS open
  UNION ALL
  SELECT * FROM (SELECT queue, job_type, subject FROM jobs_app_job
                  WHERE state = 'queued' AND hold IN ('new', 'limit') AND queue = %(queue)s LIMIT %(limit)s) AS gated
  UNION ALL
  SELECT * FROM (SELECT queue, job_type, subject FROM jobs_app_job
                  WHERE state = 'queued' AND hold = 'key' AND queue = %(queue)s LIMIT %(limit)s) AS keyed
  UNION ALL
  SELECT * FROM (SELECT queue, job_type, subject FROM jobs_app_job
                  WHERE state = 'queued' AND hold = 'pause' LIMIT %(limit)s) AS parked WHERE queue = %(queue)s
) AS backlog GROUP BY job_type, subject
"""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """By the minutes that are rolled up."""

    waiting: Sequence[float] = ()  # in each minute of the last hour, the oldest first
    in_per_minute: float | None = None  # None: nothing is known yet
    out_per_minute: float | None = None

    def drained_in(self, waiting: int) -> float | None:
        """Seconds until nothing waits, if all goes on like this; None: it will not."""
        if self.in_per_minute is None or self.out_per_minute is None or not waiting:
            return 0.0 if not waiting else None
        gain = self.out_per_minute - self.in_per_minute
        return waiting / gain * 60 if gain > 0 else None


@dataclass(frozen=True, kw_only=True)
class QueueLine:
    counts: QueueCounts
    at: datetime
    pauses: Sequence[Pause]  # of it, or of everything
    workers: Sequence[WorkerState]  # alive, and would take its jobs
    pace: Pace
    rules: QueueRules  # in force
    declared: QueueRules  # by the settings
    has_own_rules: bool  # an operator has set some

    @property
    def name(self) -> str:
        return self.counts.queue

    @property
    def is_own(self) -> bool:
        """The queue of the app's own chores, which nothing stops?"""
        return self.name == SYSTEM_QUEUE

    @property
    def is_paused_itself(self) -> bool:
        return any(pause.scope == Scope.QUEUE for pause in self.pauses)

    @property
    def oldest_wait(self) -> float | None:
        oldest = self.counts.oldest_due_at
        return None if oldest is None else max(0.0, (self.at - oldest).total_seconds())

    @property
    def slots(self) -> int:
        """That may take its jobs: of all living workers, as far as its limit lets them."""
        slots = sum(worker.concurrency for worker in self.workers)
        return slots if self.rules.concurrency is None else min(slots, self.rules.concurrency)

    @property
    def state(self) -> str:
        if self.pauses:
            return PAUSED
        if not self.workers and not self.is_own:
            return UNSERVED
        if self.oldest_wait is not None and self.oldest_wait > BEHIND_SECONDS:
            return BEHIND
        return ACTIVE if self.counts.waiting or self.counts.running else IDLE

    @property
    def drained_in(self) -> float | None:
        return self.pace.drained_in(self.counts.waiting)


@dataclass(frozen=True, kw_only=True)
class QueueList:
    at: datetime
    lines: list[QueueLine]
    is_capped: bool  # more waits than was counted


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits in a queue, by a sample of so many."""

    size: int
    is_sample: bool  # there is more
    job_types: list[tuple[str, int]] = field(default_factory=list)
    subjects: list[tuple[str, int]] = field(default_factory=list)


def listing(connection: BaseDatabaseWrapper) -> QueueList:
    """All queues of which code, settings, operators or jobs know. The number of queries is the same for any number."""
    live = counts.live(connection)
    found = {each.queue: each for each in live.queues}
    own = set(QueueState.objects.using(connection.alias).values_list("name", flat=True))
    pauses = _pauses(connection, live.at)
    paused = {pause.name for pause in pauses if pause.scope == Scope.QUEUE}
    names = sorted({*found, *own, *paused, *get_settings().queues})
    rules, workers, paces = read_rules(connection), _workers(connection, live.at), _paces(connection, names, live.at)
    lines = [
        QueueLine(
            counts=found.get(name) or QueueCounts(queue=name),
            at=live.at,
            pauses=[] if name == SYSTEM_QUEUE else [pause for pause in pauses if pause.name in ("", name)],
            workers=[worker for worker in workers if Serving(worker.queues, worker.excluded)(name)],
            pace=paces.get(name, Pace()),
            rules=rules.of_queue(name),
            declared=get_settings().queues.get(name, NO_RULES),
            has_own_rules=name in own,
        )
        for name in names
    ]
    return QueueList(at=live.at, lines=lines, is_capped=live.is_capped)


def backlog(connection: BaseDatabaseWrapper, queue: str, *, limit: int = MOST_SAMPLED, top: int = 10) -> Backlog:
    """Which job types and subjects wait in it most."""
    with connection.cursor() as cursor:
        cursor.execute(BACKLOG, {"queue": queue, "limit": limit})
        rows = cursor.fetchall()
    job_types, subjects = Counter[str](), Counter[str]()
    for job_type, subject, count in rows:
        job_types[job_type] += count
        if subject:
            subjects[subject] += count
    size = job_types.total()
    return Backlog(
        size=size, is_sample=size >= limit, job_types=job_types.most_common(top), subjects=subjects.most_common(top)
    )


def _pauses(connection: BaseDatabaseWrapper, now: datetime) -> list[Pause]:
    rows = Pause.objects.using(connection.alias).filter(in_force(now), scope__in=[Scope.ALL, Scope.QUEUE])
    return list(rows.order_by("-created_at", "-pk"))


def _workers(connection: BaseDatabaseWrapper, now: datetime) -> list[WorkerState]:
    rows = WorkerState.objects.using(connection.alias).exclude(kind=WorkerKind.SCHEDULER).defer("job_types")
    return [worker for worker in rows.order_by("name", "id") if status_of(worker, now=now) == ALIVE]


def _paces(connection: BaseDatabaseWrapper, names: Iterable[str], now: datetime) -> dict[str, Pace]:
    """One query: three series of each queue, sixty minutes of each, and how far the roll-ups have come."""
    first = minute_of(now) - HOUR * MINUTE
    rows = StatSample.objects.using(connection.alias).filter(seconds=WIDTH, at__gte=first)
    rows = rows.filter(series__in=[*SERIES, ALL_ENDED[0]], name__in=[*names, ALL_ENDED[1]]).order_by()
    points: dict[str, dict[str, dict[datetime, float]]] = {}
    for series, name, at, value in rows.values_list("series", "name", "at", "value"):
        points.setdefault(name, {}).setdefault(series, {})[at] = value
    rolled_up = points.pop(ALL_ENDED[1], {}).get(ALL_ENDED[0], {})
    last = max(rolled_up, default=first + (HOUR - 1) * MINUTE)
    return {name: _pace(of_queue, first, last) for name, of_queue in points.items()}


def _pace(points: Mapping[str, Mapping[datetime, float]], first: datetime, last: datetime) -> Pace:
    """What comes and goes has no number where it was none; what waits has one for each minute that was looked at."""
    lately = [last - place * MINUTE for place in range(PACE)]
    return Pace(
        waiting=_filled(points.get(WAITING, {}), first),
        in_per_minute=sum(points.get(ENQUEUED, {}).get(minute, 0.0) for minute in lately) / PACE,
        out_per_minute=sum(points.get(FINISHED, {}).get(minute, 0.0) for minute in lately) / PACE,
    )


def _filled(waiting: Mapping[datetime, float], first: datetime) -> list[float]:
    """Up to the last minute with a number; one without has that of the minute before it."""
    found: list[float] = []
    for place in range(HOUR + 1 if waiting else 0):
        minute = first + place * MINUTE
        if minute <= max(waiting):
            found.append(waiting.get(minute, found[-1] if found else 0.0))
    return found
