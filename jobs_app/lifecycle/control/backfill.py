"""The slots of the past, enqueued by hand: those of a range that no run has, so many at most, spread over some time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.catch_up import delays
from jobs_app.errors import JobsError, OptionInvalid
from jobs_app.ids import EPOCH, slot_id
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.schedule_rows import NOT_FOUND, Matching, Name, each_named, lock, meant, target_of
from jobs_app.lifecycle.control.schedules import why_gone, why_no_slots, why_not_permitted
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.lifecycle.slots import SlotDrafts, enqueue_slots, known_slots
from jobs_app.models import ScheduleState
from jobs_app.options import Reader, read
from jobs_app.text import clean

MOST_SLOTS = 1000
MOST_AT_ONCE = 10_000  # one transaction makes them all, and their schedules wait for it
MOST_LOOKED_AT = 100_000
FIRST_SHOWN = 10
SLOTS_PER_LOOK = 500  # looked up by one statement
NOTHING_MISSING = "has no slot without a run in that time"
NOTHING_MADE = "got no job: its slots were made meanwhile, or another job holds its key"
READERS: dict[str, Reader] = {
    "start": values.moment,
    "end": values.moment,
    "most": partial(values.whole, low=1, high=MOST_AT_ONCE),
    "spread": values.seconds,
}


@dataclass(kw_only=True)
class Backfilled(Acted):
    """What a backfill found and made. Of a dry run: what it would make."""

    slots: int = 0  # without a run, in the range; counted up to one more than may be made
    known: int = 0  # that have a run already
    made: int = 0
    is_capped: bool = False  # there are more than may be made
    dry_run: bool = False
    first: list[tuple[str, datetime]] = field(default_factory=list)  # of a dry run: schedule and slot


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is asked for."""

    start: datetime
    end: datetime  # the last moment of it
    most: int
    spread: float  # seconds

    def slots(self, row: ScheduleState) -> Iterator[datetime]:
        """An interval has its grid from where the schedule stands; a single moment is where it was taken."""
        anchor = row.next_run_at or row.last_slot or row.once_at
        first = row.timetable.around(anchor, self.start) if anchor else None
        return iter(()) if first is None else row.timetable.slots(first, self.end)


class Slot(NamedTuple):
    row: ScheduleState
    at: datetime

    @property
    def run_id(self) -> UUID:
        return slot_id(self.row.job_type, self.row.subject, self.row.name, self.at)


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
    tell: Callable[[int], None] = lambda looked_at: None,
) -> Backfilled:
    """Enqueue the slots from `start` to `end` that no run has, oldest first in each schedule, `most` of them.

    The jobs start over the next `spread` seconds. `dry_run` stores nothing and tells how many there would be. `tell`
    hears how many slots were looked at so far.
    """
    act = begin("backfill", "backfill_schedule", actor, reason)
    connection, named = jobs_connection(), meant(schedules)
    wish = _wish(connection, {"start": start, "end": end, "most": most, "spread": spread})
    found = Backfilled(dry_run=dry_run)
    missing = _look(connection, wish, _usable(connection, act, named, found), found, tell)
    if dry_run:
        found.made, found.moved = len(missing), _schedules_of(missing)
        found.first = [(str(slot.row), slot.at) for slot in missing[:FIRST_SHOWN]]
        return found
    with write_savepoint(connection):
        _make(connection, wish, missing, found)
        told = {"from": wish.start.isoformat(), "to": wish.end.isoformat(), "jobs": found.made}
        act.record(connection, *target_of(connection, named), found, told)
    return found


def _wish(connection: BaseDatabaseWrapper, given: dict[str, Any]) -> Wish:
    wish = Wish(**read(given, READERS, OptionInvalid, "backfill"))
    if wish.start < EPOCH:  # ids tell the time of their slot from here on
        raise OptionInvalid("backfill: start= is before 1970.")
    if wish.start > wish.end:
        raise OptionInvalid("backfill: start= is after end=.")
    if wish.end > database_now(connection):
        raise OptionInvalid("backfill: end= is in the future. Those slots will come by themselves.")
    return wish


def _usable(
    connection: BaseDatabaseWrapper, act: Act, schedules: Matching | Sequence[Name], found: Backfilled
) -> Iterator[tuple[Name, ScheduleState]]:
    drafts = SlotDrafts()
    for name, row in each_named(connection, schedules):
        why = NOT_FOUND if row is None else _why_not(act, drafts, row)
        if why is not None:
            found.skipped[name] = why
        elif row is not None:
            yield name, row


def _why_not(act: Act, drafts: SlotDrafts, row: ScheduleState) -> str | None:
    if why := why_gone(row) or why_not_permitted(act, row) or why_no_slots(row):
        return why
    try:
        drafts.job(row, EPOCH, delay=0.0)
    except JobsError as error:
        return f"cannot make its jobs: {clean(error)}"
    return None


def _look(
    connection: BaseDatabaseWrapper,
    wish: Wish,
    named: Iterable[tuple[Name, ScheduleState]],
    found: Backfilled,
    tell: Callable[[int], None],
) -> list[Slot]:
    """What there is to make, as far as it may be made; nothing is locked for it."""
    names: dict[int, Name] = {}
    missing: list[Slot] = []

    def rows() -> Iterator[ScheduleState]:
        for name, row in named:
            names[row.pk] = name
            yield row

    for slot, has_run in _slots(connection, wish, rows()):
        found.known += has_run
        missing += [] if has_run else [slot]
        tell(found.known + len(missing))
        if len(missing) > wish.most:
            break
        if found.known + len(missing) > MOST_LOOKED_AT:
            raise OptionInvalid(f"backfill: more than {MOST_LOOKED_AT} slots. Take a shorter time, or fewer schedules.")
    found.slots, found.is_capped = len(missing), len(missing) > wish.most
    if not found.is_capped:  # else there are slots that nobody has looked at
        complete = names.keys() - {slot.row.pk for slot in missing}
        found.skipped |= {names[pk]: NOTHING_MISSING for pk in sorted(complete)}
    return missing[: wish.most]


def _slots(connection: BaseDatabaseWrapper, wish: Wish, rows: Iterable[ScheduleState]) -> Iterator[tuple[Slot, bool]]:
    """Each slot of the range, and whether it has a run."""
    every = (Slot(row, moment) for row in rows for moment in wish.slots(row))
    while some := list(islice(every, SLOTS_PER_LOOK)):
        known = known_slots(connection, [slot.run_id for slot in some])
        yield from ((slot, slot.run_id in known) for slot in some)


def _make(connection: BaseDatabaseWrapper, wish: Wish, wanted: Sequence[Slot], found: Backfilled) -> None:
    """Under the locks of the schedules, so that no tick and no other backfill makes the same slots meanwhile."""
    rows = lock(connection, _schedules_of(wanted))
    still = (slot for slot, has_run in _slots(connection, wish, rows) if not has_run)
    slots, drafts = list(islice(still, len(wanted))), SlotDrafts()
    pace = delays(len(slots), wish.spread)
    jobs = [drafts.job(slot.row, slot.at, delay) for slot, delay in zip(slots, pace, strict=True)]
    made = enqueue_slots(connection, jobs)
    found.made = len(made)
    found.moved = _schedules_of(slot for slot in slots if slot.run_id in made)
    moved = set(found.moved)
    found.skipped |= {row.pk: NOTHING_MADE for row in rows if row.pk not in moved}


def _schedules_of(slots: Iterable[Slot]) -> list[int]:
    return list(dict.fromkeys(slot.row.pk for slot in slots))
