"""The slots of the past, enqueued by hand: those of a range that no run has, so many at most, spread over some time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.catch_up import delays
from jobs_app.errors import OptionInvalid
from jobs_app.ids import slot_id
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import on_schedules, rows_of
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.lifecycle.slots import SlotDrafts, enqueue_slots, known_slots
from jobs_app.models import ScheduleState
from jobs_app.registry import registry

MOST_SLOTS = 1000
SLOTS_AT_ONCE = 500  # looked up in history by one statement


@dataclass(kw_only=True)
class Backfilled(Acted):
    """What a backfill found and made. Of a dry run: what it would make."""

    slots: int = 0  # without a run, in the range; counted up to one more than may be made
    known: int = 0  # that have a run already
    made: int = 0
    dry_run: bool = False

    @property
    def is_capped(self) -> bool:
        return self.slots > self.made


@dataclass(frozen=True, kw_only=True)
class Range:
    start: datetime
    end: datetime  # the last moment of it

    def slots(self, row: ScheduleState) -> Iterator[datetime]:
        anchor = row.next_run_at or row.last_slot or row.once_at
        first = row.timetable.around(anchor, self.start) if anchor else None
        return iter(()) if first is None else row.timetable.slots(first, self.end)


def backfill(
    schedules: Any,
    actor: Any,
    reason: str = "",
    *,
    start: datetime,
    end: datetime,
    most: int = MOST_SLOTS,
    spread: Any = 0,
    dry_run: bool = False,
) -> Backfilled:
    """Enqueue the slots from `start` to `end` that no run has, oldest first in each schedule, `most` of them.

    The jobs start over the next `spread` seconds. `dry_run` stores nothing and tells how many there would be.
    """
    act = begin("backfill", "backfill_schedule", actor, reason)
    connection = jobs_connection()
    span = _range(start, end, database_now(connection))
    found = Backfilled(dry_run=dry_run)
    for row in rows_of(connection, schedules):
        if found.slots > most:
            break
        found.slots += len(_missing(connection, row, span, most=most + 1 - found.slots, found=found))
    count = min(found.slots, most)
    if dry_run or not count:
        found.made = count
        return found
    pace = deque(delays(count, _seconds(spread)))
    found.add(on_schedules(schedules, act, partial(_why_not, act), partial(_fill, span, pace, found)))
    return found


def _range(start: Any, end: Any, now: datetime) -> Range:
    try:
        span = Range(start=values.moment(start), end=values.moment(end))
    except ValueError as problem:
        raise OptionInvalid(f"backfill: start={start!r}, end={end!r} cannot be used: {problem}.") from None
    if not span.start <= span.end <= now:
        raise OptionInvalid("backfill: start must not be after end, and end not in the future: those slots will come.")
    return span


def _seconds(spread: Any) -> float:
    try:
        return values.seconds(spread)
    except ValueError as problem:
        raise OptionInvalid(f"backfill: spread={spread!r} cannot be used: {problem}.") from None


def _why_not(act: Act, row: ScheduleState) -> str | None:
    job_type = registry.find(row.job_type)
    if job_type is None:
        return f"is of job type {row.job_type!r}, which is gone from code"
    return None if act.may(job_type.permission) else f"needs the permission {job_type.permission}"


def _fill(
    span: Range,
    pace: deque[float],
    found: Backfilled,
    connection: BaseDatabaseWrapper,
    rows: Sequence[ScheduleState],
) -> dict[str, Any]:
    """Under the locks of the rows: no tick makes the same slots meanwhile."""
    drafts, before = SlotDrafts(), found.made
    for row in rows:
        slots = _missing(connection, row, span, most=len(pace))
        jobs = [drafts.job(row, slot, pace.popleft()) for slot in slots]
        found.made += len(enqueue_slots(connection, jobs)) if jobs else 0
    return {"from": span.start.isoformat(), "to": span.end.isoformat(), "jobs": found.made - before}


def _missing(
    connection: BaseDatabaseWrapper, row: ScheduleState, span: Range, *, most: int, found: Backfilled | None = None
) -> list[datetime]:
    """The first slots of the range that no run has."""
    missing: list[datetime] = []
    slots = span.slots(row)
    while len(missing) < most and (chunk := list(islice(slots, SLOTS_AT_ONCE))):
        ids = {slot_id(row.job_type, row.subject, row.name, slot): slot for slot in chunk}
        known = known_slots(connection, list(ids))
        missing += [slot for run_id, slot in ids.items() if run_id not in known]
        if found is not None:
            found.known += len(known)
    return missing[:most]
