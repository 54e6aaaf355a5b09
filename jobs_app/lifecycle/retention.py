"""What of the history is old enough to go: which rows, until which moment, and which of them stay all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.conf import get_settings
from jobs_app.lifecycle.bounded import held
from jobs_app.lifecycle.database import database_now, read_uuid
from jobs_app.lifecycle.presence import job_types_alive
from jobs_app.lifecycle.relation import relation
from jobs_app.models import FINISHED, ControlEvent, Job, JobRun, State, StatSample
from jobs_app.models.base import JobsModel
from jobs_app.registry import JobType, registry

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Mark(NamedTuple):
    """A place in the order of a shelf. A batch begins behind it."""

    at: datetime
    id: Any = None  # the row at the place; None: before all of that moment


class Batch(NamedTuple):
    going: list[Any]  # ids
    end: Mark | None  # None: nothing comes after it


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Rows of one table that may be old enough, read from the oldest on, whether they go or stay."""

    counted_as: str
    model: type[JobsModel]
    order: str  # the moment by which an index has them
    since: datetime = BEGINNING
    until: datetime

    def find(self, connection: BaseDatabaseWrapper, after: Mark, size: int) -> Batch:
        rows = list(self._rows(connection, after).values_list(self.order, "pk")[:size])
        return Batch([row_id for _, row_id in rows], _end(rows, size))

    def _rows(self, connection: BaseDatabaseWrapper, after: Mark) -> QuerySet[Any]:
        span = {f"{self.order}__gte": after.at, f"{self.order}__lt": self.until}
        rows = self.model.objects.using(connection.alias).filter(**span)
        if after.id is not None:
            rows = rows.exclude(**{self.order: after.at, "pk__lte": after.id})
        return rows.order_by(self.order, "pk")


@dataclass(frozen=True, kw_only=True)
class RunShelf(Shelf):
    """The finished runs of one job type.

    They are read by the moment they were enqueued, for which there is an index, and none ends before that. One by type,
    state and end would lead past those that stay, but cost a tenth of every run that is stored.
    """

    job_type: str
    ended_before: Mapping[str, datetime]  # by state; runs in another state stay
    keep_last: int | None

    def find(self, connection: BaseDatabaseWrapper, after: Mark, size: int) -> Batch:
        columns = ("queued_at", "pk", "state", "finished_at", "schedule")
        its = self._rows(connection, after).filter(held("job_type", self.job_type, JobRun))
        rows = list(its.order_by("job_type", "queued_at", "pk").values_list(*columns)[:size])
        old = {
            run_id: schedule
            for _, run_id, state, finished_at, schedule in rows
            if state in self.ended_before and finished_at < self.ended_before[state]
        }
        firsts = _first_kept(connection, set(old.values()) - {None}, self.keep_last) if self.keep_last else {}
        alive = set(Job.objects.using(connection.alias).filter(pk__in=old).values_list("pk", flat=True)) if old else ()
        going = [
            run_id
            for run_id, schedule in old.items()
            if run_id not in alive and (schedule not in firsts or run_id < firsts[schedule])
        ]
        return Batch(going, _end(rows, size))


UNKNOWN_KEPT_FOR = timedelta(days=365)

# A loose index scan: one step per job type, whatever the history.
TYPES_IN_HISTORY = """
WITH RECURSIVE known (job_type) AS (
  SELECT min(job_type) FROM jobs_app_jobrun
  UNION ALL
  SELECT (SELECT min(job_type) FROM jobs_app_jobrun AS run WHERE run.job_type > known.job_type)
    FROM known WHERE known.job_type IS NOT NULL)
SELECT job_type FROM known WHERE job_type IS NOT NULL
"""
NTH_LAST = """
SELECT schedule, (SELECT id FROM jobs_app_jobrun AS run WHERE run.schedule = given.schedule
                   ORDER BY id DESC LIMIT 1 OFFSET %(skipped)s)
  FROM ({rows}) AS given
"""


def shelves(connection: BaseDatabaseWrapper, now: datetime, window: timedelta | None) -> Iterator[Shelf]:
    """All that may have something old on it, as the settings and the job types say.

    With a `window`, only the end of each: what became old within it.
    """
    settings = get_settings()
    for name in _types_to_prune(connection):
        shelf = _run_shelf(name, now, window)
        if shelf is not None:
            yield shelf
    if settings.control_event_retention_days:
        until = now - timedelta(days=settings.control_event_retention_days)
        yield Shelf(counted_as="events", model=ControlEvent, order="at", until=until)
    if settings.sample_retention_days:
        until = now - timedelta(days=settings.sample_retention_days)
        yield Shelf(counted_as="samples", model=StatSample, order="at", until=until)


def types_in_history(connection: BaseDatabaseWrapper) -> list[str]:
    """Every job type of which a run has ended and is kept."""
    with connection.cursor() as cursor:
        cursor.execute(TYPES_IN_HISTORY)
        return [name for (name,) in cursor.fetchall()]


def age_kept(job_type: JobType | None, state: str) -> timedelta | None:
    """How long a run is kept after it ended in `state`; None is for ever.

    A type that this process does not know may have wanted longer, and its workers may only be away: a year at least.
    """
    settings = get_settings()
    days = settings.retention_failed_days if state == State.FAILED else settings.retention_days
    usual = timedelta(days=days)
    if job_type is None:
        return max(usual, UNKNOWN_KEPT_FOR) if usual else None
    return (job_type.retention or {}).get(state, usual) or None


def _run_shelf(name: str, now: datetime, window: timedelta | None) -> RunShelf | None:
    job_type = registry.find(name)
    ages = {state.value: age_kept(job_type, state) for state in FINISHED}
    ended_before = {state: now - age for state, age in ages.items() if age is not None}
    if not ended_before:
        return None
    until = max(ended_before.values())
    return RunShelf(
        counted_as="runs",
        model=JobRun,
        order="queued_at",
        since=BEGINNING if window is None else until - window,
        until=until,
        job_type=name,
        ended_before=ended_before,
        keep_last=job_type.keep_last if job_type else None,
    )


def _types_to_prune(connection: BaseDatabaseWrapper) -> list[str]:
    """Those of this process, and those that no living one knows. What only others know is theirs: they know its age."""
    elsewhere = job_types_alive(connection, now=database_now(connection)).difference(registry.names())
    return [name for name in types_in_history(connection) if name not in elsewhere]


def _first_kept(connection: BaseDatabaseWrapper, schedules: set[int], keep_last: int) -> dict[int, UUID]:
    """The first of the last runs of each schedule; ids sort by time. A schedule with fewer runs keeps them all."""
    if not schedules:
        return {}
    rows, parameters = relation(connection, {"schedule": "int"}, [(each,) for each in sorted(schedules)])
    with connection.cursor() as cursor:
        cursor.execute(NTH_LAST.format(rows=rows), parameters | {"skipped": keep_last - 1})
        return {schedule: read_uuid(found) if found else UUID(int=0) for schedule, found in cursor.fetchall()}


def _end(rows: list[Any], size: int) -> Mark | None:
    return Mark(*rows[-1][:2]) if len(rows) == size else None
