"""Which workers and schedulers are there, which have gone silent, and what each of them runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, QuerySet

from jobs_app.lifecycle.presence import BEATS_MISSED, is_late
from jobs_app.models import Job, State, WorkerKind, WorkerState
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.serving import Serving

ALIVE = "alive"
DRAINING = "draining"  # alive, and takes no more work, or will not from its next heartbeat on
LATE = "late"  # killed, cut off, or about to come back
LOST = "lost"  # late for so long that its jobs were given to others
LIVING = (ALIVE, DRAINING)

LOST_AFTER_BEATS = 2 * BEATS_MISSED  # a lease after the one that its jobs had
MOST_SHOWN = 200
MOST_RUNNING = 2000  # running jobs that are read to tell who runs what
FEW = 5  # of them are shown for each process


@dataclass(frozen=True)
class Process:
    """One process at one moment."""

    row: WorkerState
    status: str
    running: int = 0  # but for the app's own chores, as the list of runs counts them
    jobs: Sequence[Job] = ()  # some of these, longest first

    @property
    def is_worker(self) -> bool:
        return self.row.kind != WorkerKind.SCHEDULER

    @property
    def serves(self) -> Serving:
        return Serving(self.row.queues, self.row.excluded)

    @property
    def slots(self) -> int:
        """For what is to start."""
        return self.row.concurrency if self.is_worker and self.status == ALIVE else 0


@dataclass(frozen=True, kw_only=True)
class Processes:
    at: datetime
    found: list[Process]

    @property
    def workers(self) -> list[Process]:
        return [each for each in self.found if each.is_worker]

    @property
    def schedulers(self) -> list[Process]:
        return [each for each in self.found if not each.is_worker]

    @property
    def living(self) -> list[Process]:
        return [each for each in self.found if each.status in LIVING]

    @property
    def taking(self) -> list[Process]:
        """Workers that take jobs."""
        return [each for each in self.workers if each.status == ALIVE]

    @property
    def slots(self) -> int:
        return sum(each.slots for each in self.found)

    @property
    def statuses(self) -> Counter[str]:
        """Of workers."""
        return Counter(each.status for each in self.workers)

    @property
    def versions(self) -> Counter[str]:
        """Of what lives and has this app's code; remote workers have their own."""
        local = [each.row for each in self.living if each.row.kind != WorkerKind.REMOTE]
        return Counter(row.version for row in local if row.version)

    @property
    def has_scheduler(self) -> bool:
        return any(each.status in LIVING for each in self.schedulers)

    def serving(self, queue: str) -> list[Process]:
        """Workers that live. One that drains is among them: it is about to be replaced."""
        return [each for each in self.living if each.is_worker and each.serves(queue)]


def newest(connection: BaseDatabaseWrapper, *, kind: str = "", limit: int = MOST_SHOWN) -> list[WorkerState]:
    """Those that were seen last, of one kind or of all, newest first."""
    rows = _rows(connection)
    return list((rows.filter(kind=kind) if kind else rows)[:limit])


def status_of(process: WorkerState, *, now: datetime) -> str:
    if is_late(process.seen_at, process.beat_seconds, now):
        silent = now - process.seen_at
        return LOST if silent > timedelta(seconds=LOST_AFTER_BEATS * process.beat_seconds) else LATE
    return DRAINING if process.draining or process.drain_requested else ALIVE


def all_of(connection: BaseDatabaseWrapper, now: datetime) -> Processes:
    """Every process, without what it runs: one query over a table with a row for each."""
    rows = sorted(_rows(connection).defer("job_types"), key=_by_name)
    return Processes(at=now, found=[Process(row, status_of(row, now=now)) for row in rows])


def at_work(connection: BaseDatabaseWrapper, now: datetime, *, kind: str = "", limit: int = MOST_SHOWN) -> Processes:
    """Those that were seen last, with what each runs. Three queries, always."""
    rows = newest(connection, kind=kind, limit=limit)
    counted = _running_by_worker(connection)
    jobs = _jobs_by_worker(longest_running(connection, limit=MOST_RUNNING))
    found = [
        Process(row, status_of(row, now=now), counted.get(row.pk, 0), jobs.get(row.pk, [])[:FEW])
        for row in sorted(rows, key=_by_name)
    ]
    return Processes(at=now, found=found)


def one(connection: BaseDatabaseWrapper, worker_id: str, now: datetime, *, most: int = 100) -> Process | None:
    """One process with what it runs; None: it has left, or nobody has heard of it for a day."""
    row = _rows(connection).filter(pk=worker_id).first()
    running = _running(connection).filter(worker_id=worker_id)
    if row is None:
        return None
    jobs = list(running.order_by("started_at", "id")[:most])
    return Process(row, status_of(row, now=now), running.count(), jobs)


def longest_running(connection: BaseDatabaseWrapper, *, limit: int) -> list[Job]:
    """What runs for longest, on whichever of them."""
    return list(_running(connection).order_by("started_at", "id")[:limit])


def _rows(connection: BaseDatabaseWrapper) -> QuerySet[WorkerState]:
    return WorkerState.objects.using(connection.alias).order_by("-seen_at", "id")


def _running(connection: BaseDatabaseWrapper) -> QuerySet[Job]:
    rows = Job.objects.using(connection.alias).filter(state=State.RUNNING).exclude(queue=SYSTEM_QUEUE)
    return rows.only("id", "worker_id", "job_type", "subject", "queue", "started_at", "attempts")


def _running_by_worker(connection: BaseDatabaseWrapper) -> dict[str, int]:
    """Bounded by the slots of all workers."""
    return dict(_running(connection).order_by().values_list("worker_id").annotate(Count("pk")))


def _jobs_by_worker(jobs: Iterable[Job]) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.worker_id, []).append(job)
    return found


def _by_name(row: WorkerState) -> tuple[bool, str, str, int]:
    """Not by who was seen last: rows that change places with each refresh cannot be read."""
    return row.kind == WorkerKind.SCHEDULER, row.host, row.name, row.pid
