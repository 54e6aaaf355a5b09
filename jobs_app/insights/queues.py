"""Queues as people look at them: how full, how fast, who serves them, what limits them and what stops them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.insights import counts, processes, throughput
from jobs_app.insights.counts import QueueCounts
from jobs_app.insights.processes import Process, Processes
from jobs_app.insights.queue_states import state_of
from jobs_app.insights.throughput import NO_HOUR, QueueHour
from jobs_app.lifecycle.pauses import in_force
from jobs_app.lifecycle.rules import read_rules
from jobs_app.limits import NO_RULES, QueueRules
from jobs_app.models import Pause, QueueState, Scope
from jobs_app.registry import SYSTEM_QUEUE

MOST_SAMPLED = 10_000  # waiting rows of one queue

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
class QueueLine:
    counts: QueueCounts
    at: datetime
    pauses: Sequence[Pause] = ()  # of it, or of everything
    workers: Sequence[Process] = ()  # that live and serve it
    hour: QueueHour = NO_HOUR
    rules: QueueRules = NO_RULES  # in force
    declared: QueueRules = NO_RULES  # by the settings
    has_own_rules: bool = False  # an operator has set some

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
        """That may take its jobs: of all its workers, as far as its limit lets them."""
        slots = sum(worker.slots for worker in self.workers)
        return slots if self.rules.concurrency is None else min(slots, self.rules.concurrency)

    @property
    def state(self) -> str:
        return state_of(
            self.counts,
            is_paused=bool(self.pauses),
            is_served=bool(self.workers) or self.is_own,
            wait=self.oldest_wait,
            trend=self.hour.trend,
        )

    @property
    def drained_in(self) -> float | None:
        return self.hour.drained_in(self.counts.waiting)

    def under(self, pauses: Sequence[Pause]) -> QueueLine:
        """The same with those of these that hold it: nothing holds the app's own chores."""
        wanted = ((Scope.ALL, ""), (Scope.QUEUE, self.name))
        its = [each for each in pauses if (each.scope, each.name) in wanted]
        return replace(self, pauses=[] if self.is_own else its)


@dataclass(frozen=True, kw_only=True)
class QueueList:
    at: datetime
    lines: list[QueueLine]
    processes: Processes
    is_capped: bool  # more waits than was counted


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits in a queue, by a sample of so many."""

    size: int
    is_sample: bool  # there is more
    job_types: list[tuple[str, int]] = field(default_factory=list)
    subjects: list[tuple[str, int]] = field(default_factory=list)


def listing(
    connection: BaseDatabaseWrapper, hours: Mapping[str, QueueHour] | None = None, *, own: bool = False
) -> QueueList:
    """All queues of which code, settings, operators or jobs know, with these hours if they were read before.

    That of the app's own chores is among them while it has jobs, or if it is asked for. The number of queries is the
    same for any number.
    """
    live = counts.live(connection)
    found = {each.queue: each for each in live.queues}
    ruled = set(QueueState.objects.using(connection.alias).values_list("name", flat=True))
    pauses = _pauses(connection, live.at)
    paused = {pause.name for pause in pauses if pause.scope == Scope.QUEUE}
    rules, present = read_rules(connection), processes.all_of(connection, live.at)
    hours = throughput.of_queues(connection, live.at) if hours is None else hours
    lines = [
        QueueLine(
            counts=found.get(name) or QueueCounts(queue=name),
            at=live.at,
            workers=present.serving(name),
            hour=hours.get(name, NO_HOUR),
            rules=rules.of_queue(name),
            declared=get_settings().queues.get(name, NO_RULES),
            has_own_rules=name in ruled,
        ).under(pauses)
        for name in sorted({*found, *ruled, *paused, *get_settings().queues, *([SYSTEM_QUEUE] if own else ())})
    ]
    return QueueList(at=live.at, lines=lines, processes=present, is_capped=live.is_capped)


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
