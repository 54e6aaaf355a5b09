"""What the dashboard shows at a glance: how much waits and runs in each queue, who works, and what is late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Q

from jobs_app.insights import queues, stale
from jobs_app.insights.counts import QueueCounts
from jobs_app.insights.processes import Processes
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.throughput import QueueHour
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.schedule_filter import ACTIVE, DISABLED, FAILING, OVERDUE, STATES, in_trouble
from jobs_app.models import Job, Pause, ScheduleState, State
from jobs_app.registry import SYSTEM_NAMES


@dataclass(frozen=True, kw_only=True)
class Oldest:
    run_id: UUID
    queue: str
    due_at: datetime


@dataclass(frozen=True, kw_only=True)
class Now:
    """The queues and the processes, as of one moment, but for the app's own chores."""

    at: datetime
    queues: list[QueueLine]
    processes: Processes
    is_capped: bool  # more waits than was counted
    oldest: Oldest | None

    @property
    def waiting(self) -> int:
        return sum(each.counts.waiting for each in self.queues)

    @property
    def running(self) -> int:
        return sum(each.counts.running for each in self.queues)

    def under(self, pauses: Sequence[Pause]) -> Now:
        """The same while these are in force: they may be newer than what was counted."""
        return replace(self, queues=[each.under(pauses) for each in self.queues])


@dataclass(frozen=True, kw_only=True)
class Schedules:
    """How many schedules are how."""

    active: int = 0  # but for those of the app's own chores
    overdue: int = 0
    disabled: int = 0
    failing: int = 0


@dataclass(frozen=True, kw_only=True)
class StaleCounts:
    at: datetime
    kinds: Counter[str] = field(default_factory=Counter)
    is_capped: bool = False

    @property
    def total(self) -> int:
        return self.kinds.total()


def read_now(connection: BaseDatabaseWrapper, hours: Mapping[str, QueueHour] | None = None) -> Now:
    """A constant number of queries, each bounded, however many queues there are and however much waits."""
    listed = queues.listing(connection, hours)
    lines = [line for line in listed.lines if not line.is_own]
    return Now(
        at=listed.at,
        queues=lines,
        processes=listed.processes,
        is_capped=listed.is_capped,
        oldest=_oldest(connection, [line.counts for line in lines]),
    )


def read_schedules(connection: BaseDatabaseWrapper) -> Schedules:
    """One pass over the schedules."""
    now = database_now(connection)
    own = Q(job_type__startswith=SYSTEM_NAMES)
    found = ScheduleState.objects.using(connection.alias).aggregate(
        active=Count("pk", filter=STATES[ACTIVE] & ~own),
        overdue=Count("pk", filter=in_trouble(OVERDUE, now)),
        failing=Count("pk", filter=in_trouble(FAILING, now)),
        disabled=Count("pk", filter=STATES[DISABLED]),
    )
    return Schedules(**found)


def read_stale(connection: BaseDatabaseWrapper) -> StaleCounts:
    """As many as the page of stale runs has."""
    now = database_now(connection)
    found = stale.stale_runs(connection, limit=stale.MOST_SHOWN + 1)
    shown = found[: stale.MOST_SHOWN]
    return StaleCounts(at=now, kinds=Counter(one.kind for one in shown), is_capped=len(found) > len(shown))


def _oldest(connection: BaseDatabaseWrapper, found: list[QueueCounts]) -> Oldest | None:
    """Which run it is that could start and waits for longest: one step into the index that the claim reads."""
    due = [(each.oldest_due_at, each.queue, each.oldest_priority) for each in found if each.oldest_due_at is not None]
    if not due:
        return None
    due_at, queue, priority = min(due)
    open_jobs = Job.objects.using(connection.alias).filter(state=State.QUEUED, hold="")
    jobs = open_jobs.filter(queue=queue, priority=priority, run_at=due_at)
    run_id = jobs.order_by("id").values_list("pk", flat=True).first()
    return Oldest(run_id=run_id, queue=queue, due_at=due_at) if run_id else None
