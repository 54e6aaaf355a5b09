"""What happened in a minute becomes a few numbers, for charts that reach further back than anybody wants to count.

A minute is computed from history, so that doing it again gives the same. The app's own chores are not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Model, Q, QuerySet

from jobs_app.ids import uuid7
from jobs_app.lifecycle.database import database_now, is_postgres, sqlite_time, while_busy
from jobs_app.lifecycle.retention import types_in_history
from jobs_app.models import Job, JobRun, StatSample
from jobs_app.registry import SYSTEM_QUEUE

Row = TypeVar("Row", bound=Model)

MINUTE = timedelta(minutes=1)
WIDTH = 60  # seconds
MOST_MINUTES = 60  # that are made up for at once; what is older stays without numbers
SKEW = timedelta(minutes=10)  # between the clock that made an id and the database's
ALL_ENDED = ("ended", "")  # written for every minute, so that the newest tells how far it got
COLUMNS = ("at", "series", "name", "seconds")

# The p-th value is the first that p of all do not exceed. Both databases can say this; only one has percentiles.
DURATIONS = """
SELECT job_type, count(*), sum(length), max(length),
       min(CASE WHEN place >= 0.5 * size THEN length END), min(CASE WHEN place >= 0.95 * size THEN length END)
  FROM (SELECT job_type, length, row_number() OVER (PARTITION BY job_type ORDER BY length) AS place,
               count(*) OVER (PARTITION BY job_type) AS size
          FROM (SELECT job_type, {length} AS length FROM jobs_app_jobrun
                 WHERE finished_at >= %(start)s AND finished_at < %(end)s AND started_at IS NOT NULL
                   AND queue <> %(own)s) AS ran) AS ranked
 GROUP BY job_type
"""
POSTGRES_LENGTH = "extract(epoch FROM finished_at - started_at)::float8"
SQLITE_LENGTH = "(julianday(finished_at) - julianday(started_at)) * 86400.0"


@dataclass(frozen=True)
class Sample:
    series: str
    name: str  # of the job type or the queue
    value: float
    count: int = 1  # of what it stands for


def roll_up(connection: BaseDatabaseWrapper, go_on: Callable[[], bool] = lambda: True) -> int:
    """Write the minutes that are over and have no numbers yet; how many it were.

    The newest one that has some is done again: a report may have come late.
    """
    newest = minute_of(database_now(connection)) - MINUTE
    known = _newest_known(connection)
    minute = newest if known is None else max(known, newest - (MOST_MINUTES - 1) * MINUTE)
    done = 0
    while minute <= newest and go_on():
        write(connection, minute, of_minute(connection, minute))
        minute, done = minute + MINUTE, done + 1
    return done


def write(connection: BaseDatabaseWrapper, minute: datetime, samples: Iterable[Sample]) -> None:
    """What is there already gets the newer value."""
    rows = [StatSample(at=minute, seconds=WIDTH, **asdict(sample)) for sample in samples]
    store = StatSample.objects.using(connection.alias).bulk_create
    while_busy(
        connection,
        lambda: store(rows, update_conflicts=True, unique_fields=COLUMNS, update_fields=("value", "count")),
    )


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def of_minute(connection: BaseDatabaseWrapper, start: datetime) -> Iterator[Sample]:
    """All that is known about the minute that begins so. It costs what ended and what was enqueued in it, and a look at
    the jobs of schedules that wait or run."""
    yield from _ended(connection, start)
    yield from _durations(connection, start)
    for queue, count in _enqueued(connection, start).items():
        yield Sample("enqueued", queue, count)


def _newest_known(connection: BaseDatabaseWrapper) -> datetime | None:
    series, name = ALL_ENDED
    rows = StatSample.objects.using(connection.alias).filter(series=series, name=name, seconds=WIDTH)
    return rows.order_by("-at").values_list("at", flat=True).first()


def _ended(connection: BaseDatabaseWrapper, start: datetime) -> Iterator[Sample]:
    runs = JobRun.objects.using(connection.alias).filter(finished_at__gte=start, finished_at__lt=start + MINUTE)
    rows = list(_hosts(runs).order_by().values_list("job_type", "queue", "state").annotate(Count("pk")))
    of_type, of_queue = Counter[tuple[str, str]](), Counter[str]()
    for job_type, queue, state, count in rows:
        of_type[job_type, state] += count
        of_queue[queue] += count
    yield Sample(*ALL_ENDED, of_queue.total())
    for (job_type, state), count in of_type.items():
        yield Sample(f"ended.{state}", job_type, count)
    for queue, count in of_queue.items():
        yield Sample("finished", queue, count)


def _durations(connection: BaseDatabaseWrapper, start: datetime) -> Iterator[Sample]:
    is_pg = is_postgres(connection)
    moments = {"start": start, "end": start + MINUTE}
    given = moments if is_pg else {name: sqlite_time(moment) for name, moment in moments.items()}
    with connection.cursor() as cursor:
        length = POSTGRES_LENGTH if is_pg else SQLITE_LENGTH
        cursor.execute(DURATIONS.format(length=length), {**given, "own": SYSTEM_QUEUE})
        rows = cursor.fetchall()
    for job_type, count, *numbers in rows:
        for series, value in zip(("sum", "max", "p50", "p95"), numbers, strict=True):
            yield Sample(f"duration.{series}", job_type, max(0.0, value), count)


def _enqueued(connection: BaseDatabaseWrapper, start: datetime) -> Counter[str]:
    """By queue: of what has ended, by the index of each type; of what has not, among the ids of that time.

    But for jobs of schedules: their ids are of their slots, also where these were made up for.
    """
    in_minute = Q(queued_at__gte=start, queued_at__lt=start + MINUTE)
    runs = JobRun.objects.using(connection.alias).filter(in_minute, job_type__in=types_in_history(connection))
    jobs = Job.objects.using(connection.alias).filter(in_minute)
    of_schedules = jobs.filter(schedule__isnull=False)  # 50,000 that wait are read in 11 ms
    others = jobs.filter(schedule=None, pk__gte=_first_id(start - SKEW), pk__lt=_first_id(start + MINUTE + SKEW))
    found: Counter[str] = Counter()
    for rows in (runs, of_schedules, others):
        found.update(dict(_hosts(rows).order_by().values_list("queue").annotate(Count("pk"))))
    return found


def _hosts(rows: QuerySet[Row]) -> QuerySet[Row]:
    return rows.exclude(queue=SYSTEM_QUEUE)


def _first_id(moment: datetime) -> UUID:
    """Below every id of that moment."""
    return uuid7(int(moment.timestamp() * 1000), bytes(10))
