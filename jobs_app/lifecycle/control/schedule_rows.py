"""Acts upon many schedules: a chunk and a transaction at a time, its rows locked, with an event for each chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act, Acted
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.models import ScheduleState
from jobs_app.registry import registry

SCHEDULES_PER_CHUNK = 200
MATCHING_PER_CHUNK = 2000  # one statement changes them all, and none is named in the event

Name: TypeAlias = int | tuple[str, str, str]  # its id, or its job type, subject and name
WhyNot: TypeAlias = Callable[[ScheduleState], str | None]
Change: TypeAlias = Callable[[BaseDatabaseWrapper, Sequence[ScheduleState]], dict[str, Any]]  # gives the event's detail


@dataclass(frozen=True, kw_only=True)
class Matching:
    """All schedules of a job type, of a subject, of both; or simply all."""

    job_type: str | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        if self.job_type is not None and self.job_type not in registry:
            rows = ScheduleState.objects.filter(job_type=self.job_type)
            if not rows.exists():
                registry.get(self.job_type)  # a slip of the pen would change nothing, and nobody would notice

    @property
    def target(self) -> tuple[str, str]:
        named = {"job_type": self.job_type, "subject": self.subject}
        given = {kind: name for kind, name in named.items() if name is not None}
        return (next(iter(given)), next(iter(given.values()))) if len(given) == 1 else ("schedules", self._both)

    @property
    def _both(self) -> str:
        return "all" if self.job_type is None else f"{self.job_type} {self.subject}"

    def ids(self, connection: BaseDatabaseWrapper) -> list[int]:
        rows = ScheduleState.objects.using(connection.alias)
        if self.job_type is not None:
            rows = rows.filter(job_type=self.job_type)
        if self.subject is not None:
            rows = rows.filter(subject=self.subject)
        return list(rows.order_by("pk").values_list("pk", flat=True))


def schedules_of(*, job_type: str | None = None, subject: str | None = None) -> Matching:
    """What acts upon schedules take to mean all of a job type, of a subject, of both, or all there are."""
    return Matching(job_type=job_type, subject=subject)


def rows_of(connection: BaseDatabaseWrapper, schedules: Any) -> Iterator[ScheduleState]:
    """What they name, as it is now, not locked; a chunk in memory at a time."""
    names: Sequence[Name] = schedules.ids(connection) if isinstance(schedules, Matching) else _names(schedules)
    for first in range(0, len(names), MATCHING_PER_CHUNK):
        yield from _rows(connection, names[first : first + MATCHING_PER_CHUNK])


def on_schedules(schedules: Any, act: Act, why_not: WhyNot, change: Change) -> Acted:
    """Let `change` act on the rows of each chunk for which there is no reason why not."""
    connection = jobs_connection()
    total = Acted()
    matching = schedules if isinstance(schedules, Matching) else None
    names: Sequence[Name] = _names(schedules) if matching is None else matching.ids(connection)
    size = SCHEDULES_PER_CHUNK if matching is None else MATCHING_PER_CHUNK
    for first in range(0, len(names), size):
        chunk = names[first : first + size]
        with write_savepoint(connection):
            found = lock(connection, chunk)
            acted, rows = _split(chunk, found, why_not)
            detail = change(connection, rows)
            if len(chunk) > 1 and matching is None:
                detail = {"moved": acted.moved, **detail}
            target = matching.target if matching else _target(chunk, found)
            act.record(connection, *target, acted, detail)
        total.add(acted)
    return total


def lock(connection: BaseDatabaseWrapper, names: Sequence[Name]) -> dict[Name, ScheduleState]:
    found: dict[Name, ScheduleState] = {}
    for row in _rows(connection, names).select_for_update():
        found[row.pk] = found[row.job_type, row.subject, row.name] = row
    return found


def _rows(connection: BaseDatabaseWrapper, names: Sequence[Name]) -> QuerySet[ScheduleState]:
    full = [name for name in names if isinstance(name, tuple)]
    wanted = [Q(job_type=job_type, subject=subject, name=name) for job_type, subject, name in full]
    by_any_name = reduce(or_, wanted, Q(pk__in=[name for name in names if isinstance(name, int)]))
    return ScheduleState.objects.using(connection.alias).filter(by_any_name).order_by("pk")


def _names(schedules: Any) -> list[Name]:
    """Of one schedule or of many: ids, (job type, subject, name), or rows. Each once."""
    is_one = _is_full_name(schedules) or not isinstance(schedules, Iterable) or isinstance(schedules, str)
    names = [getattr(one, "pk", one) for one in ([schedules] if is_one else schedules)]
    for name in names:
        if not _is_full_name(name) and (not isinstance(name, int) or isinstance(name, bool)):
            raise OptionInvalid(f"{name!r} names no schedule: give its id, or (job type, subject, name).")
    return list(dict.fromkeys(names))


def _is_full_name(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 3 and all(isinstance(part, str) for part in name)


def _split(
    names: Sequence[Name], found: dict[Name, ScheduleState], why_not: WhyNot
) -> tuple[Acted, list[ScheduleState]]:
    acted, rows = Acted(), []
    for name in names:
        row = found.get(name)
        why = "does not exist" if row is None else why_not(row)
        if why is not None:
            acted.skipped[name] = why
        elif row is not None:
            acted.moved.append(row.pk)
            rows.append(row)
    return acted, rows


def _target(names: Sequence[Name], found: dict[Name, ScheduleState]) -> tuple[str, str]:
    if len(names) > 1:
        return "schedules", f"{len(names)} schedules"
    [name] = names
    return "schedule", str(found.get(name, name))
