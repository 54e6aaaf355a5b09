"""Everything there is to know about one run, read with a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.insights import attempts, processes, runs
from jobs_app.insights.attempts import AttemptPage
from jobs_app.insights.waiting import Reason, waiting_because
from jobs_app.lifecycle.database import pinned_reading
from jobs_app.lifecycle.overdue import overdue_seconds, timeout_of
from jobs_app.lifecycle.presence import is_late
from jobs_app.lifecycle.stale import Stale, judge
from jobs_app.lifecycle.workforce import read_workforce
from jobs_app.models import FINISHED, ControlEvent, Job, JobItem, Run, ScheduleState, State, WorkerState
from jobs_app.models.base import JobsModel

MOST_CHILDREN = 20
MOST_EVENTS = 20
MOST_EVENTS_READ = 200
MOST_ITEMS = 10_000
GONE = "gone"  # no worker of this id was seen for a day, or it left in good order

Row = TypeVar("Row", bound=JobsModel)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """As of one moment, by the clock that decides."""

    now: datetime
    run: Run
    status: str
    label: str  # the word of its preset for the status
    job: Job | None  # None: it has ended
    reasons: list[Reason]  # why it waits
    stale: Stale | None  # what is wrong with it while it runs
    worker: WorkerState | None
    schedule: ScheduleState | None
    parent: Run | None
    children: list[Run]
    has_more_children: bool
    items: int  # reported by remote workers, MOST_ITEMS + 1 at most
    attempts: AttemptPage
    events: list[ControlEvent]
    timeout: float | None
    overdue: float | None  # seconds

    @property
    def is_finished(self) -> bool:
        return self.run.state in FINISHED

    @property
    def is_running(self) -> bool:
        return self.run.state == State.RUNNING

    @property
    def reached(self) -> int:
        return runs.reached(self.run)

    @property
    def counted_attempts(self) -> int:
        return self.run.attempts - self.run.free_attempts

    @property
    def waited(self) -> float | None:
        """Seconds from the enqueue to the first start, or until now; None where it ended without one."""
        if self.run.first_started_at is None and self.is_finished:
            return None
        return ((self.run.first_started_at or self.now) - self.run.queued_at).total_seconds()

    @property
    def ran(self) -> float | None:
        """Seconds that the last attempt took, or takes so far."""
        end = self.now if self.is_running else self.run.finished_at
        if self.run.started_at is None or end is None:
            return None
        return max(0.0, (end - self.run.started_at).total_seconds())

    @property
    def deadline(self) -> datetime | None:
        if not self.is_running or self.timeout is None or self.run.started_at is None:
            return None
        return self.run.started_at + timedelta(seconds=self.timeout)

    @property
    def worker_status(self) -> str:
        """Of the worker that has it now."""
        return GONE if self.worker is None else processes.status_of(self.worker, now=self.now)

    @property
    def lease_is_over(self) -> bool:
        return self.run.lease_expires_at is not None and self.run.lease_expires_at < self.now

    @property
    def is_in_good_hands(self) -> bool:
        """Does it run on a worker that is alive and holds it? Then only force takes it away."""
        worker = self.worker if self.is_running and not self.lease_is_over else None
        return worker is not None and not is_late(worker.seen_at, worker.beat_seconds, self.now)


def read(
    connection: BaseDatabaseWrapper, run_id: UUID, *, before: int | None = None, with_logs: bool = True
) -> RunFacts:
    """RunNotFound where no run has this id. `before` is where the page of its attempts begins."""
    run = runs.get(run_id)  # before a transaction of ours: what it raises would spoil a host's
    with pinned_reading(connection):
        tries = attempts.page(connection, run_id, before=before, with_logs=with_logs)
        return _read(connection, run, tries)


def _read(connection: BaseDatabaseWrapper, run: Any, tries: AttemptPage) -> RunFacts:
    now: datetime = run.read_at
    status = runs.status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=now)
    job = None if run.state in FINISHED else _row(connection, Job, run.pk)
    children = list(_brief(connection).filter(parent=run.pk)[: MOST_CHILDREN + 1])  # by its index, in no order
    children.sort(key=lambda child: (child.queued_at, child.pk), reverse=True)
    return RunFacts(
        now=now,
        run=run,
        status=status,
        label=runs.label_of(run.job_type, status),
        job=job,
        reasons=waiting_because(connection, run, now),
        stale=judge(job, read_workforce(connection, now), now) if job and job.state == State.RUNNING else None,
        worker=_row(connection, WorkerState, run.worker_id),
        schedule=_row(connection, ScheduleState, run.schedule),
        parent=_brief(connection).filter(pk=run.parent).first() if run.parent else None,
        children=children[:MOST_CHILDREN],
        has_more_children=len(children) > MOST_CHILDREN,
        items=JobItem.objects.using(connection.alias).filter(job_id=run.pk).order_by()[: MOST_ITEMS + 1].count(),
        attempts=tries,
        events=_events(connection, run.pk),
        timeout=timeout_of(run),
        overdue=overdue_seconds(run, now),
    )


def _brief(connection: BaseDatabaseWrapper) -> QuerySet[Run]:
    names = ("id", "job_type", "state", "attempts", "run_at", "queued_at")
    return runs.readable(connection).only(*names)


def _row(connection: BaseDatabaseWrapper, model: type[Row], key: Any) -> Row | None:
    return model.objects.using(connection.alias).filter(pk=key).first() if key else None


def _events(connection: BaseDatabaseWrapper, run_id: UUID) -> list[ControlEvent]:
    """Newest first. Acts on this run alone; one on many tells which they were in its detail.

    Sorted here: where the plan is pinned, an order would be read from the index of all events by time.
    """
    rows = ControlEvent.objects.using(connection.alias).filter(target_kind="run", target=str(run_id)).order_by()
    found = sorted(rows[:MOST_EVENTS_READ], key=lambda event: (event.at, event.pk), reverse=True)
    return found[:MOST_EVENTS]
