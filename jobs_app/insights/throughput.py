"""The last hour, minute by minute, from roll-ups: how full queues were, what came in and went out, and how it ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet, Sum

from jobs_app.lifecycle.bounded import among
from jobs_app.lifecycle.database import pinned_reading
from jobs_app.lifecycle.rollups import ALL_ENDED, MINUTE, WIDTH, minute_of
from jobs_app.models import StatSample

MINUTES = 60
RATE_MINUTES = 10  # over which speed is told: one is too few to tell, an hour hides what has just begun
TREND_MINUTES = 15
MOST_SAMPLES = 200_000  # looked at, the newest: those of a few hundred queues and job types
OF_QUEUES = ("waiting", "enqueued", "finished")
SUCCEEDED, FAILED, CANCELLED = ENDED = ("ended.succeeded", "ended.failed", "ended.cancelled")


@dataclass(frozen=True, kw_only=True)
class QueueHour:
    """One queue."""

    waiting: Sequence[float] = ()  # as of each minute that was written, oldest first
    per_minute_in: float | None = None  # None: none of the last minutes was written
    per_minute_out: float | None = None
    trend: float | None = None  # waiting jobs more in each minute; None: too few minutes

    def drained_in(self, waiting: int) -> float | None:
        """Seconds until nothing waits, if all goes on like this; None: it will not, or nobody knows."""
        if not waiting:
            return 0.0
        gain = (self.per_minute_out or 0.0) - (self.per_minute_in or 0.0)
        return waiting / gain * 60 if gain > 0 else None


NO_HOUR = QueueHour()  # nothing was written of it


@dataclass(frozen=True, kw_only=True)
class Minute:
    at: datetime
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.cancelled


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Of one job type in the hour."""

    succeeded: int = 0
    failed: int = 0

    @property
    def failure_rate(self) -> float:
        total = self.succeeded + self.failed
        return self.failed / total if total else 0.0


@dataclass(frozen=True, kw_only=True)
class Hour:
    queues: Mapping[str, QueueHour] = field(default_factory=dict)
    minutes: Sequence[Minute] = ()  # sixty, oldest first
    types: Mapping[str, Ended] = field(default_factory=dict)
    waiting: Sequence[float] = ()  # over all queues
    trend: float | None = None
    is_rolled_up: bool = False  # numbers of one of the last minutes are there: somebody writes them


def last_hour(connection: BaseDatabaseWrapper, now: datetime) -> Hour:
    """The whole minutes before this one; three queries."""
    last = minute_of(now)
    first = last - MINUTES * MINUTE
    with pinned_reading(connection):
        samples = _samples(connection, first)
        series = _of_queues(samples)
        by_minute, by_type = (_ended(samples, each) for each in ("at", "name"))
    waiting = _summed([points["waiting"] for points in series.queues.values()])
    return Hour(
        queues=_queues(series, last),
        minutes=[_minute(first + n * MINUTE, by_minute) for n in range(MINUTES)],
        types={name: _type(name, by_type) for name in sorted({name for name, _ in by_type})},
        waiting=[waiting[at] for at in sorted(waiting)],
        trend=_trend(waiting, last),
        is_rolled_up=bool(_lately(series, last)),
    )


def of_queues(connection: BaseDatabaseWrapper, now: datetime) -> dict[str, QueueHour]:
    """The same of queues alone; one query."""
    last = minute_of(now)
    with pinned_reading(connection):
        series = _of_queues(_samples(connection, last - MINUTES * MINUTE))
    return _queues(series, last)


Points = Mapping[datetime, float]
Sums = Mapping[tuple[Any, str], int]  # by minute or job type, and series


class Series(NamedTuple):
    queues: Mapping[str, Mapping[str, Points]]  # by queue and series
    rolled_up: set[datetime]  # minutes in which what has no number was none


def _samples(connection: BaseDatabaseWrapper, first: datetime) -> QuerySet[StatSample]:
    """By the index of their time: the one that begins with a series has all its minutes of all months."""
    rows = StatSample.objects.using(connection.alias).filter(at__gte=first)
    return among(rows.order_by("-at")[:MOST_SAMPLES]).filter(seconds=WIDTH)


def _of_queues(samples: QuerySet[StatSample]) -> Series:
    rows = samples.filter(series__in=[*OF_QUEUES, ALL_ENDED[0]])
    queues: dict[str, dict[str, dict[datetime, float]]] = defaultdict(lambda: {name: {} for name in OF_QUEUES})
    rolled_up = set()
    for series, name, at, value in rows.values_list("series", "name", "at", "value"):
        if series == ALL_ENDED[0]:
            rolled_up.add(at)
        else:
            queues[name][series][at] = value
    return Series(queues, rolled_up)


def _ended(samples: QuerySet[StatSample], by: str) -> Sums:
    """Summed by the database: many job types are many samples."""
    grouped = samples.filter(series__in=ENDED).values_list(by, "series").annotate(Sum("value"))
    return {(key, series): int(count) for key, series, count in grouped}


def _queues(series: Series, last: datetime) -> dict[str, QueueHour]:
    lately = _lately(series, last)
    return {name: _queue(points, lately, last) for name, points in series.queues.items()}


def _queue(points: Mapping[str, Points], lately: Sequence[datetime], last: datetime) -> QueueHour:
    waiting = points["waiting"]
    return QueueHour(
        waiting=[waiting[at] for at in sorted(waiting)],
        per_minute_in=_rate(points["enqueued"], lately),
        per_minute_out=_rate(points["finished"], lately),
        trend=_trend(waiting, last),
    )


def _lately(series: Series, last: datetime) -> list[datetime]:
    """Those of the last minutes that are rolled up: the newest one may not be yet."""
    return [at for at in series.rolled_up if last - RATE_MINUTES * MINUTE <= at < last]


def _rate(points: Points, minutes: Sequence[datetime]) -> float | None:
    return sum(points.get(at, 0.0) for at in minutes) / len(minutes) if minutes else None


def _trend(points: Points, last: datetime) -> float | None:
    """The slope of the straight line that fits the last minutes best."""
    recent = {at: value for at, value in points.items() if at >= last - timedelta(minutes=TREND_MINUTES)}
    if len(recent) < 3:
        return None
    times = {at: (at - last) / MINUTE for at in recent}
    mean_time, mean_value = sum(times.values()) / len(times), sum(recent.values()) / len(recent)
    spread = sum((time - mean_time) ** 2 for time in times.values())
    return sum((times[at] - mean_time) * (value - mean_value) for at, value in recent.items()) / spread


def _summed(all_points: Sequence[Points]) -> dict[datetime, float]:
    total: dict[datetime, float] = defaultdict(float)
    for points in all_points:
        for at, value in points.items():
            total[at] += value
    return total


def _minute(at: datetime, ended: Sums) -> Minute:
    return Minute(
        at=at,
        succeeded=ended.get((at, SUCCEEDED), 0),
        failed=ended.get((at, FAILED), 0),
        cancelled=ended.get((at, CANCELLED), 0),
    )


def _type(name: str, ended: Sums) -> Ended:
    return Ended(succeeded=ended.get((name, SUCCEEDED), 0), failed=ended.get((name, FAILED), 0))
