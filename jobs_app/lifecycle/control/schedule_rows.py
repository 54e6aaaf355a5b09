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
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ScheduleState
from jobs_app.registry import registry

SCHEDULES_PER_CHUNK = 200
MATCHING_PER_CHUNK = 2000  # one statement changes them all, and none is named in the event
LARGEST_ID = 2**63 - 1
NOT_FOUND = "does not exist"
REPAIRED = {"disabled": False, "failures": 0, "failing_since": None, "last_error": ""}

Name: TypeAlias = int | tuple[str, str, str]  # its id, or its job type, subject and name
WhyNot: TypeAlias = Callable[[ScheduleState], str | None]
Change: TypeAlias = Callable[[BaseDatabaseWrapper, Sequence[ScheduleState]], dict[str, Any]]  # gives the event's detail


@dataclass(frozen=True, kw_only=True)
class Matching(ScheduleFilter):
    """All schedules that a filter finds when the act begins; without any, simply all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.job_type is None or self.job_type in registry:
            return
        if not ScheduleFilter(job_type=self.job_type).rows(jobs_connection()).exists():
            registry.get(self.job_type)  # a slip of the pen would change nothing, and nobody would notice

    @property
    def target(self) -> tuple[str, str]:
        names = set(self.given)
        if not names:
            return "schedules", "all"
        if names in ({"job_type"}, {"subject"}):
            [(kind, name)] = self.given.items()
            return kind, name
        if names == {"job_type", "subject"}:
            return "schedules", f"{self.job_type} {self.subject}"
        return "schedules", ", ".join(f"{name} {value!r}" for name, value in self.given.items())

    def ids(self, connection: BaseDatabaseWrapper) -> list[int]:
        return list(self.rows(connection).order_by("pk").values_list("pk", flat=True))


def schedules_of(
    *,
    job_type: str | None = None,
    subject: str | None = None,
    state: str | None = None,
    origin: str | None = None,
    trouble: str | None = None,
    search: str = "",
) -> Matching:
    """What acts upon schedules take to mean all of a job type, of a subject, in a state, of any of these together; or
    all there are."""
    return Matching(job_type=job_type, subject=subject, state=state, origin=origin, trouble=trouble, search=search)


def meant(schedules: Any) -> Matching | list[Name]:
    """The same in a form that can be gone through more than once."""
    return schedules if isinstance(schedules, Matching) else _names(schedules)


def on_schedules(schedules: Any, act: Act, why_not: WhyNot, change: Change) -> Acted:
    """Let `change` act on the rows of each chunk for which there is no reason why not."""
    connection, total = jobs_connection(), Acted()
    matching = schedules if isinstance(schedules, Matching) else None
    for chunk in _chunks(connection, meant(schedules)):
        with write_savepoint(connection):
            found = _by_name(lock(connection, chunk))
            acted, rows = _split(chunk, found, why_not)
            detail = change(connection, rows)
            if matching is not None:  # else it would read like an act upon the job type or the subject itself
                detail = {"schedules": matching.given or "all", **detail}
            elif len(chunk) > 1:
                detail = {"moved": acted.moved, **detail}
            act.record(connection, *(matching.target if matching else _target(chunk, found)), acted, detail)
        total.add(acted)
    return total


def each_named(
    connection: BaseDatabaseWrapper, schedules: Matching | Sequence[Name]
) -> Iterator[tuple[Name, ScheduleState | None]]:
    """Each name that is meant, with its row as it is now, not locked; a chunk in memory at a time."""
    for chunk in _chunks(connection, schedules):
        found = _by_name(_rows(connection, chunk))
        yield from ((name, found.get(name)) for name in chunk)


def target_of(connection: BaseDatabaseWrapper, schedules: Matching | Sequence[Name]) -> tuple[str, str]:
    """What an event says that an act was about."""
    if isinstance(schedules, Matching):
        return schedules.target
    return _target(schedules, _by_name(_rows(connection, schedules[:1])))


def lock(connection: BaseDatabaseWrapper, names: Sequence[Name]) -> list[ScheduleState]:
    """Those that exist, in the order in which everybody locks them."""
    return list(_rows(connection, names).select_for_update())


def lock_one(connection: BaseDatabaseWrapper, schedule: Any) -> ScheduleState:
    names = _names(schedule)
    if len(names) != 1:
        raise OptionInvalid("schedules are changed one by one: name one of them.")
    found = lock(connection, names)
    if not found:
        raise OptionInvalid(f"there is no schedule {names[0]!r}. See manage.py jobs schedules.")
    return found[0]


def update(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState], **changes: Any) -> None:
    same = ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows])
    same.update(updated_at=database_now(connection), **changes)


def _chunks(connection: BaseDatabaseWrapper, schedules: Matching | Sequence[Name]) -> Iterator[Sequence[Name]]:
    names, size = schedules, SCHEDULES_PER_CHUNK
    if isinstance(names, Matching):
        names, size = names.ids(connection), MATCHING_PER_CHUNK
    return (names[first : first + size] for first in range(0, len(names), size))


def _rows(connection: BaseDatabaseWrapper, names: Sequence[Name]) -> QuerySet[ScheduleState]:
    full = [name for name in names if isinstance(name, tuple)]
    wanted = [Q(job_type=job_type, subject=subject, name=name) for job_type, subject, name in full]
    ids = [name for name in names if isinstance(name, int) and name <= LARGEST_ID]  # a larger one no column can hold
    by_any_name = reduce(or_, wanted, Q(pk__in=ids))
    return ScheduleState.objects.using(connection.alias).filter(by_any_name).order_by("pk")


def _by_name(rows: Iterable[ScheduleState]) -> dict[Name, ScheduleState]:
    found: dict[Name, ScheduleState] = {}
    for row in rows:
        found[row.pk] = found[row.job_type, row.subject, row.name] = row
    return found


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
        why = NOT_FOUND if row is None else why_not(row)
        if why is not None:
            acted.skipped[name] = why
        elif row is not None:
            acted.moved.append(row.pk)
            rows.append(row)
    return acted, rows


def _target(names: Sequence[Name], found: dict[Name, ScheduleState]) -> tuple[str, str]:
    if len(names) != 1:
        return "schedules", f"{len(names)} schedules"
    [name] = names
    return "schedule", str(found.get(name, name))
