"""What each periodic task would become: its job type, its payload and the slot it goes on with, or why it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from jobs_app.drafts import Drafts
from jobs_app.errors import OptionInvalid
from jobs_app.importing.found import ODD, Found, When, why
from jobs_app.importing.job_types import JobTypes, payload_of
from jobs_app.lifecycle.control.planning import SLOT
from jobs_app.options import read
from jobs_app.registry import JobType
from jobs_app.schedule_columns import first_slot
from jobs_app.schedule_options import READERS, ScheduleOptions
from jobs_app.strict_json import loads
from jobs_app.timetable import Timetable


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What an operator says about all of them."""

    now: datetime
    paused: bool = False
    skip_missed: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What cannot be made, or need not, has a `problem` that says why."""

    found: Found
    job_type: JobType | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    when: When | None = None
    is_paused: bool = False
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """By which its schedule is known again."""
        return (self.job_type.name if self.job_type else "", "", self.found.name)

    @property
    def timetable(self) -> Timetable:
        assert self.when is not None
        return self.when.timetable

    @property
    def is_skipped(self) -> bool:
        """For one run, which was missed and is not made up for."""
        return self.timetable.at is not None and self.when is not None and self.when.stands_at is None

    def slots(self, now: datetime, count: int) -> list[datetime]:
        """The first ones that it would have."""
        if self.when is None or self.job_type is None:
            return []
        said = ScheduleOptions(timetable=self.timetable).over(self.job_type.schedule)
        return slots_from(self.timetable, self.when.stands_at or first_slot(said, now), count)


def plan(rows: Iterable[Found], job_types: JobTypes, wish: Wish) -> list[Plan]:
    """One for each row, in their order."""
    plans = [_plan(found, job_types, wish) for found in rows]
    counts = Counter(each.key for each in plans if not each.problem)
    return [each if each.problem or counts[each.key] == 1 else _shared(each) for each in plans]


def _plan(found: Found, job_types: JobTypes, wish: Wish) -> Plan:
    if found.when is None:
        return Plan(found=found, job_type=_once_imported_as(found, job_types), problem=found.problem)
    try:
        job_type = job_types.of(found.task)
        job, _ = Drafts(job_type, {}).draft(payload_of(job_type, found.args, found.kwargs), "")
        _require_accepted(found.when)
    except ODD as problem:
        return Plan(found=found, problem=why(problem))
    return Plan(
        found=found,
        job_type=job_type,
        payload=loads(job.payload),
        when=_without_missed(found.when, wish.now) if wish.skip_missed else found.when,
        is_paused=wish.paused or not found.is_enabled,
        notes=(*found.notes, *_notes(found, job_type, wish)),
    )


def _require_accepted(when: When) -> None:
    """What the act would refuse must be told here: there it would take back all others too."""
    said = {**when_options(when.timetable), "from_slot": when.stands_at}
    read(said, {**READERS, **SLOT}, OptionInvalid, "its schedule here")


def _once_imported_as(found: Found, job_types: JobTypes) -> JobType | None:
    """Of what is over there: a schedule of an earlier import may still stand here."""
    try:
        return job_types.of(found.task) if found.is_needless else None
    except ValueError:
        return None


def _shared(one: Plan) -> Plan:
    text = f"another row would become the schedule {one.found.name!r} of this job type too. Rename one of them"
    return replace(one, job_type=None, problem=text)


def _without_missed(when: When, now: datetime) -> When:
    if when.stands_at is None or when.stands_at > now:
        return when
    return replace(when, stands_at=when.timetable.around(when.stands_at, now))


def _notes(found: Found, job_type: JobType, wish: Wish) -> Iterator[str]:
    if found.queue and found.queue != job_type.queue:
        yield f"it went to {found.queue!r}; jobs of its type go to the queue {job_type.queue!r}"
    if found.priority is not None and found.priority != job_type.priority:
        yield f"its priority {found.priority} is not kept; jobs of its type have {job_type.priority}"
    if job_type.schedule.timetable is not None:
        yield f"its job type also comes back by its code: {job_type.schedule.timetable}"
    stood = found.when.stands_at if found.when else None
    if found.is_enabled and not wish.paused and not wish.skip_missed and stood is not None and stood < wish.now:
        yield f"it was due at {stood:%Y-%m-%d %H:%M:%S}Z, which is made up for at once; --skip-missed leaves that out"


def slots_from(timetable: Timetable, first: datetime | None, count: int) -> list[datetime]:
    """As far as the calendar goes: rows here may have been edited by hand."""
    found: list[datetime] = []
    with suppress(OverflowError):
        while first is not None and len(found) < count:
            found.append(first)
            first = timetable.after(first)
    return found


def when_options(timetable: Timetable) -> dict[str, Any]:
    """As acts upon schedules are told it."""
    if timetable.cron:
        return {"cron": timetable.cron, "timezone": timetable.timezone}
    return {"every": timetable.every} if timetable.every is not None else {"at": timetable.at}
