"""Job types as people look at them: what code says, with what the database knows of each. A few queries, for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, F, Sum

from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.lifecycle.loose_scans import each_value
from jobs_app.lifecycle.pauses import in_force
from jobs_app.lifecycle.retention import types_in_history
from jobs_app.lifecycle.rollups import MINUTE, WIDTH
from jobs_app.models import FINISHED, JobRun, Pause, ScheduleState, Scope, State, StatSample
from jobs_app.registry import SYSTEM_NAMES, JobType, registry

A_DAY = timedelta(hours=24)
HOUR = timedelta(hours=1)
MOST_LIVE = 100_000  # rows looked at; beyond it the numbers are "at least"
MOST_FAILED = 1000  # of the newest runs that failed, among which the last one of each type is looked for
MOST_SUBJECTS = 100
LONGEST_ERROR = 200

ENDED = {f"ended.{state}": str(state) for state in FINISHED}
DURATIONS = ("duration.p50", "duration.p95")

# The sample is cut before it is grouped, which the ORM cannot say.
LIVE = """
SELECT job_type, state, count(*) FROM (SELECT job_type, state FROM jobs_app_job LIMIT %(limit)s) AS live
 GROUP BY job_type, state
"""


class LastError(NamedTuple):
    run_id: UUID
    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Of the last 24 hours, by the minutes that are rolled up: so it may be a minute or two behind."""

    states: Mapping[str, int]
    p50: float | None = None  # seconds, about: the mean of what the minutes say, each by its number of runs
    p95: float | None = None

    @property
    def runs(self) -> int:
        return sum(self.states.values())

    @property
    def failed(self) -> int:
        return self.states.get(State.FAILED, 0)

    @property
    def failure_rate(self) -> float | None:
        """Of those that were not cancelled."""
        counted = self.failed + self.states.get(State.SUCCEEDED, 0)
        return self.failed / counted if counted else None


@dataclass(frozen=True, kw_only=True)
class TypeLine:
    """One job type; without `job_type` this code does not know it, though the database does."""

    name: str
    job_type: JobType | None
    ended: Ended
    waiting: int = 0
    running: int = 0
    schedules: int = 0
    last_error: LastError | None = None  # None also where others have failed more often since
    pause: Pause | None = None

    @property
    def live(self) -> int:
        return self.waiting + self.running

    @property
    def is_own(self) -> bool:
        """One of the app's own chores?"""
        return self.name.startswith(SYSTEM_NAMES)

    @property
    def is_enabled(self) -> bool | None:
        """None: its switch is code that failed."""
        try:
            return self.job_type is not None and self.job_type.is_enabled
        except Exception:  # of the host's own callable
            return None


@dataclass(frozen=True, kw_only=True)
class TypeList:
    lines: list[TypeLine]
    is_capped: bool  # more is live than was counted


def listing(connection: BaseDatabaseWrapper, *, limit: int = MOST_LIVE) -> TypeList:
    """All types that code, history or live jobs name."""
    live = _live(connection, limit + 1)
    names = {*registry.names(), *types_in_history(connection), *(name for name, _ in live)}
    return TypeList(lines=_lines(connection, names, live), is_capped=live.total() > limit)


def one(connection: BaseDatabaseWrapper, name: str, *, limit: int = MOST_LIVE) -> TypeLine | None:
    """The same of one type; None where neither code nor the database knows it."""
    live = _live(connection, limit)
    is_live = (name, State.QUEUED) in live or (name, State.RUNNING) in live
    if name not in registry and not is_live and not _has_ended(connection, name):
        return None
    return _lines(connection, {name}, live)[0]


def _lines(connection: BaseDatabaseWrapper, names: set[str], live: Counter[tuple[str, str]]) -> list[TypeLine]:
    now = database_now(connection)
    ended, errors = _ended(connection, names, now), _last_errors(connection)
    pauses, schedules = _pauses(connection, now), _schedules(connection, names)
    return [
        TypeLine(
            name=name,
            job_type=registry.find(name),
            ended=ended.get(name, Ended(states={})),
            waiting=live[name, State.QUEUED],
            running=live[name, State.RUNNING],
            schedules=schedules.get(name, 0),
            last_error=errors.get(name),
            pause=pauses.get(name),
        )
        for name in sorted(names)
    ]


@dataclass(frozen=True)
class HourlyEnds:
    at: datetime  # where the hour begins
    states: Mapping[str, int]


def hourly(connection: BaseDatabaseWrapper, name: str) -> list[HourlyEnds]:
    """How its runs ended in each of the last 24 hours, the one that is not over among them; the oldest first."""
    first = _hour_of(database_now(connection)) - 23 * HOUR
    rows = _samples(connection, ENDED, [name], first).values_list("at", "series", "value")
    found: dict[datetime, Counter[str]] = {first + place * HOUR: Counter() for place in range(24)}
    for at, series, value in rows:
        found.setdefault(_hour_of(at), Counter())[ENDED[series]] += int(value)
    return [HourlyEnds(at, states) for at, states in sorted(found.items())]


def known_subjects(connection: BaseDatabaseWrapper, name: str, *, limit: int = MOST_SUBJECTS) -> list[str]:
    """Some subjects to choose from: those that the type has schedules for, then others that had runs."""
    rows = ScheduleState.objects.using(connection.alias).filter(job_type=name, subject__gt="").order_by("subject")
    found = dict.fromkeys(rows.values_list("subject", flat=True)[:limit])
    with connection.cursor() as cursor:
        cursor.execute(each_value("subject", "subject <> ''", table="jobs_app_jobrun") + "LIMIT %s", [limit])
        found |= dict.fromkeys(subject for (subject,) in cursor.fetchall())
    return list(found)[:limit]


def schedules_of(connection: BaseDatabaseWrapper, name: str, *, limit: int = 20) -> list[ScheduleState]:
    """Some of its schedules, by subject."""
    rows = ScheduleState.objects.using(connection.alias).filter(job_type=name).defer("payload", "overrides")
    return list(rows.order_by("job_type", "subject", "name")[:limit])


def _live(connection: BaseDatabaseWrapper, limit: int) -> Counter[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(LIVE, {"limit": limit})
        return Counter({(name, state): count for name, state, count in cursor.fetchall()})


def _samples(connection: BaseDatabaseWrapper, series: Iterable[str], names: Iterable[str], since: datetime) -> Any:
    """By the index that has a series of a name from the oldest to the newest."""
    rows = StatSample.objects.using(connection.alias).filter(seconds=WIDTH, at__gte=since)
    return rows.filter(series__in=list(series), name__in=list(names)).order_by()


def _ended(connection: BaseDatabaseWrapper, names: set[str], now: datetime) -> dict[str, Ended]:
    rows = _samples(connection, (*ENDED, *DURATIONS), names, now - A_DAY - MINUTE)
    sums = rows.values_list("name", "series").annotate(
        total=Sum("value"), weighted=Sum(F("value") * F("count")), runs=Sum("count")
    )
    states: dict[str, dict[str, int]] = {}
    means: dict[tuple[str, str], float] = {}
    for name, series, total, weighted, runs in sums:
        if series in ENDED:
            states.setdefault(name, {})[ENDED[series]] = int(total)
        elif runs:
            means[name, series] = weighted / runs
    return {
        name: Ended(states=found, p50=means.get((name, DURATIONS[0])), p95=means.get((name, DURATIONS[1])))
        for name, found in states.items()
    }


def _last_errors(connection: BaseDatabaseWrapper) -> dict[str, LastError]:
    runs = JobRun.objects.using(connection.alias).filter(state=State.FAILED).order_by("-queued_at", "-id")
    columns = ("job_type", "id", "finished_at", "error")
    found: dict[str, LastError] = {}
    with pinned_reading(connection):
        for name, run_id, at, error in runs.values_list(*columns)[:MOST_FAILED]:
            found.setdefault(name, LastError(run_id, at, error[:LONGEST_ERROR]))
    return found


def _pauses(connection: BaseDatabaseWrapper, now: datetime) -> dict[str, Pause]:
    rows = Pause.objects.using(connection.alias).filter(in_force(now), scope=Scope.JOB_TYPE)
    return {pause.name: pause for pause in rows}


def _has_ended(connection: BaseDatabaseWrapper, name: str) -> bool:
    return JobRun.objects.using(connection.alias).filter(job_type=name).exists()


def _schedules(connection: BaseDatabaseWrapper, names: set[str]) -> dict[str, int]:
    rows = ScheduleState.objects.using(connection.alias).filter(job_type__in=names, retired=False)
    return dict(rows.order_by().values_list("job_type").annotate(Count("pk")))


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
