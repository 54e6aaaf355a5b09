"""Who is alive at one moment, and who of them would start a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.presence import is_late
from jobs_app.models import WorkerKind, WorkerState
from jobs_app.serving import Serving


class Hand(NamedTuple):
    """What one worker takes: jobs of these queues, if it knows their type."""

    serves: Serving
    job_types: frozenset[str]
    worker_id: str
    slots: int
    is_draining: bool  # or asked to

    def takes(self, queue: str, job_type: str) -> bool:
        return self.serves(queue) and job_type in self.job_types


@dataclass(frozen=True)
class Workforce:
    alive: frozenset[str]  # ids, schedulers among them
    hands: Sequence[Hand]

    def serves(self, queue: str) -> bool:
        return any(hand.serves(queue) for hand in self.hands)

    def knows(self, queue: str, job_type: str) -> bool:
        return any(hand.takes(queue, job_type) for hand in self.hands)


def read_workforce(connection: BaseDatabaseWrapper, now: datetime) -> Workforce:
    """One query over a table with a row per process. Who drains is alive: it is about to be replaced."""
    rows = WorkerState.objects.using(connection.alias).all()
    there = [row for row in rows if not is_late(row.seen_at, row.beat_seconds, now)]
    hands = [
        Hand(
            serves=Serving(row.queues, row.excluded),
            job_types=frozenset(row.job_types),
            worker_id=row.id,
            slots=row.concurrency,
            is_draining=row.draining or row.drain_requested,
        )
        for row in there
        if row.kind != WorkerKind.SCHEDULER
    ]
    return Workforce(frozenset(row.id for row in there), hands)
