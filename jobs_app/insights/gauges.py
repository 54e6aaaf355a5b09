"""The numbers that monitoring reads from the database, all of one moment.

Nothing here reads the history: what it costs follows what is live, never what has ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Min

from jobs_app.insights import counts, processes
from jobs_app.lifecycle.database import database_now, is_postgres, read_moment, sqlite_time
from jobs_app.lifecycle.pauses import Pauses, in_force, read_pauses
from jobs_app.lifecycle.schedule_filter import ACTIVE, DISABLED, DONE, PAUSED, RETIRED
from jobs_app.lifecycle.stale import find_stale
from jobs_app.models import Pause, ScheduleState, State
from jobs_app.registry import SYSTEM_NAMES, SYSTEM_QUEUE

# One walk over the live rows, counted to the last: a type with three jobs behind a million of another has three.
LIVE = """
SELECT job_type, queue, state, attempts > 0, run_at <= %(now)s, hold = 'pause', count(*), min(run_at), min(started_at)
  FROM jobs_app_job WHERE queue <> %(own)s GROUP BY 1, 2, 3, 4, 5, 6
"""
TABLES = """
SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables
 WHERE relid IN (SELECT oid FROM pg_class WHERE relname LIKE 'jobs\\_app\\_%%' AND pg_table_is_visible(oid))
"""
# Sessions of other databases hold nothing back here; those of other users show their age to roles with pg_monitor only.
OLDEST_TRANSACTION = """
SELECT extract(epoch FROM now() - min(xact_start))::float8 FROM pg_stat_activity
 WHERE datname = current_database() AND backend_type = 'client backend'
"""


@dataclass(kw_only=True)
class OfType:
    """Jobs of one type. Ages are seconds."""

    queued: int = 0  # due, never tried
    scheduled: int = 0  # due later, never tried
    retrying: int = 0
    in_flight: int = 0
    paused: int = 0  # of the first three: a pause keeps it from starting
    oldest_queued: float = 0.0  # since it is due
    oldest_in_flight: float = 0.0  # since its attempt began


class Table(NamedTuple):
    name: str
    live: int
    dead: int
    size: int  # bytes, with its indexes


@dataclass(frozen=True, kw_only=True)
class Gauges:
    at: datetime
    types: dict[str, OfType]
    ready_ages: dict[str, float]  # by queue: how long the oldest job waits that may start
    pauses: Pauses
    paused_scopes: Counter[str]
    workers: Counter[str]  # by status
    schedulers: Counter[str]
    schedules: Counter[str]  # by state
    schedule_ages: dict[str, float]  # by job type: how long the oldest slot is due
    stale: int
    tables: list[Table] = field(default_factory=list)
    oldest_transaction: float | None = None  # seconds


def read(connection: BaseDatabaseWrapper) -> Gauges:
    now = database_now(connection)
    pauses = read_pauses(connection)
    fleet = processes.all_of(connection, now)
    schedules, ages = _schedules(connection, now)
    scopes = Pause.objects.using(connection.alias).filter(in_force(now)).values_list("scope", flat=True)
    return Gauges(
        at=now,
        types=_types(connection, now, pauses),
        ready_ages=_ready_ages(connection, now),
        pauses=pauses,
        paused_scopes=Counter(scopes),
        workers=fleet.statuses,
        schedulers=Counter(each.status for each in fleet.schedulers),
        schedules=schedules,
        schedule_ages=ages,
        stale=len(find_stale(connection)),
        tables=_tables(connection),
        oldest_transaction=_oldest_transaction(connection),
    )


def _types(connection: BaseDatabaseWrapper, now: datetime, pauses: Pauses) -> dict[str, OfType]:
    found: dict[str, OfType] = defaultdict(OfType)
    moment = now if is_postgres(connection) else sqlite_time(now)
    for row in _rows(connection, LIVE, {"now": moment, "own": SYSTEM_QUEUE}):
        job_type, queue, state, is_tried, is_due, is_parked, count, run_at, started_at = row
        one = found[job_type]
        if state == State.RUNNING:
            one.in_flight += count
            one.oldest_in_flight = max(one.oldest_in_flight, _age(started_at, now))
            continue
        if is_parked or job_type in pauses.job_types or not pauses.allows(queue):
            one.paused += count
        if is_tried:
            one.retrying += count
        elif is_due:
            one.queued += count
            one.oldest_queued = max(one.oldest_queued, _age(run_at, now))
        else:
            one.scheduled += count
    return dict(found)


def _ready_ages(connection: BaseDatabaseWrapper, now: datetime) -> dict[str, float]:
    oldest = counts.oldest_due(connection, now)
    return {queue: _age(at, now) for queue, (at, _) in oldest.items() if queue != SYSTEM_QUEUE}


def _schedules(connection: BaseDatabaseWrapper, now: datetime) -> tuple[Counter[str], dict[str, float]]:
    states: Counter[str] = Counter(dict.fromkeys((ACTIVE, PAUSED, RETIRED, DISABLED, DONE), 0))
    ages: dict[str, float] = {}
    rows = ScheduleState.objects.using(connection.alias).exclude(job_type__startswith=SYSTEM_NAMES).order_by()
    grouped = rows.values_list("job_type", "retired", "disabled", "paused")
    for job_type, retired, disabled, paused, count, timed, first in grouped.annotate(
        Count("pk"), Count("next_run_at"), Min("next_run_at")
    ):
        if retired or disabled or paused:
            states[RETIRED if retired else DISABLED if disabled else PAUSED] += count
            continue
        states[ACTIVE] += timed
        states[DONE] += count - timed
        ages[job_type] = 0.0 if first is None else _age(first, now)
    return states, ages


def _tables(connection: BaseDatabaseWrapper) -> list[Table]:
    """As of the last analysis: PostgreSQL counts them by the way."""
    return [Table(*row) for row in _rows(connection, TABLES)] if is_postgres(connection) else []


def _oldest_transaction(connection: BaseDatabaseWrapper) -> float | None:
    if not is_postgres(connection):
        return None
    ((seconds,),) = _rows(connection, OLDEST_TRANSACTION)
    return 0.0 if seconds is None else seconds


def _rows(connection: BaseDatabaseWrapper, sql: str, parameters: dict[str, Any] | None = None) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or {})
        yield from cursor.fetchall()


def _age(moment: Any, now: datetime) -> float:
    return max(0.0, (now - read_moment(moment)).total_seconds())
