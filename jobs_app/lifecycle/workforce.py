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

COLUMNS = ("id", "kind", "seen_at", "beat_seconds", "queues", "excluded", "job_types")


class Hand(NamedTuple):
    """What one worker takes: jobs of these queues, if it knows their type."""

    serves: Serving
    job_types: frozenset[str]


@dataclass(frozen=True)
class Workforce:
    alive: frozenset[str]  # ids, schedulers among them
    hands: Sequence[Hand]

    def serves(self, queue: str) -> bool:
        return any(hand.serves(queue) for hand in self.hands)

    def knows(self, queue: str, job_type: str) -> bool:
        return any(hand.serves(queue) and job_type in hand.job_types for hand in self.hands)


def read_workforce(connection: BaseDatabaseWrapper, now: datetime) -> Workforce:
    """One query over a table with a row per process. Who drains is alive: it is about to be replaced."""
    rows = WorkerState.objects.using(connection.alias).values_list(*COLUMNS)
    there = [row for row in rows if not is_late(row[2], row[3], now)]
    hands = [
        Hand(Serving(queues, excluded), frozenset(job_types))
        for _, kind, _, _, queues, excluded, job_types in there
        if kind != WorkerKind.SCHEDULER
    ]
    return Workforce(frozenset(row[0] for row in there), hands)
