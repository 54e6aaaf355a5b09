"""What somebody watches for minutes: the verdict, the totals, the queues, who works, what runs and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights import counts, knowing, pauses, processes, run_list
from jobs_app.insights.budget import OutOfBudget, budget
from jobs_app.insights.counts import EndedCounts
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.snapshots import Snapshots
from jobs_app.insights.throughput import QueueHour
from jobs_app.insights.verdict import Known
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, Run

PART_SECONDS = 2.0
KEPT_SECONDS = 10.0
KEPT = ("hour", "schedules", "stale", "ended")  # parts that read much, or change by the minute
MOST_SHOWN = 50
FAILED = RunFilter(state="failed")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class LiveView:
    """As of one moment; None: it could not be read, in time."""

    known: Known
    ended: EndedCounts | None  # in the last hour
    running: Sequence[Job] | None  # the longest first
    failed: Sequence[Run] | None  # the newest first

    @property
    def is_all(self) -> bool:
        return self.known.is_all and None not in (self.ended, self.running, self.failed)

    @property
    def queues(self) -> list[QueueLine]:
        """Where the oldest one waits for longest first, then where most wait."""
        lines = self.known.now.queues if self.known.now else []
        return sorted(lines, key=lambda each: (-(each.oldest_wait or 0), -each.counts.waiting, each.name))

    @property
    def retrying(self) -> int:
        return sum(each.counts.retrying for each in self.queues)

    @property
    def per_minute_in(self) -> float | None:
        return _summed(hour.per_minute_in for hour in self._hours)

    @property
    def per_minute_out(self) -> float | None:
        return _summed(hour.per_minute_out for hour in self._hours)

    @property
    def _hours(self) -> list[QueueHour]:
        return [each.hour for each in self.queues]


class LiveReader:
    """Reads it again and again: each query is bounded, each part has its time."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._kept = Snapshots(KEPT_SECONDS)

    def read(self) -> LiveView:
        connection = self._connection
        now = database_now(connection)
        paused = self._part("pauses", lambda: pauses.newest(connection, now))
        return LiveView(
            known=knowing.read_known(connection, self._part, paused or []),
            ended=self._part("ended", lambda: counts.ended(connection, hours=1)),
            running=self._part("running", lambda: processes.longest_running(connection, limit=MOST_SHOWN)),
            failed=self._part("failed", lambda: run_list.page(connection, FAILED, size=MOST_SHOWN).runs),
        )

    def _part(self, name: str, function: Callable[[], T]) -> T | None:
        if name in KEPT:
            return self._kept.get(name, lambda: self._in_time(function)).value
        return self._in_time(function)

    def _in_time(self, function: Callable[[], T]) -> T | None:
        try:
            with budget(self._connection, PART_SECONDS):
                return function()
        except OutOfBudget:
            return None


def _summed(rates: Iterable[float | None]) -> float | None:
    """None: none of them is known."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None
