"""The slots of an expression in a zone: the wall-clock times that fit it, as moments in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from jobs_app.cron import elapsed
from jobs_app.cron.expression import read, split
from jobs_app.cron.fields import FIRST_YEAR, LAST_YEAR, Fields
from jobs_app.wall_clock import Clock, clock

START_OF_SEARCH = datetime(2000, 1, 1)  # what has no slot in the 40 years from here has none at all


@dataclass(frozen=True)
class Cron:
    """An expression in a zone. Two are equal when they are written alike; make them with `parse`."""

    expression: str
    timezone: str
    fields: Fields = field(compare=False, repr=False)
    clock: Clock = field(compare=False, repr=False)
    is_elapsed: bool = field(compare=False, repr=False)  # see `parse`

    def after(self, moment: datetime) -> datetime | None:
        """The first slot later than `moment`; None where the calendar ends."""
        return _remembered_after(self, _in_utc(moment))

    def newest(self, moment: datetime) -> datetime | None:
        """The newest slot that is not later than `moment`; None where the calendar begins."""
        return _remembered_newest(self, _in_utc(moment))

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The slots later than `start` and not later than `end`: from `after(start)` to `newest(end)`, in order."""
        slot, end = _after(self, _in_utc(start)), _in_utc(end)
        while slot is not None and slot <= end:
            yield slot
            slot = _after(self, slot)


@lru_cache(maxsize=1024)
def parse(expression: str, timezone: str = "UTC") -> Cron:
    """Read an expression, or say what to write instead.

    When clocks change, a time of day happens once, as with Debian's cron: a repeated one the first time, a skipped one
    at the change. An expression that repeats (its minute or its hour begins with `*`) follows elapsed time instead: it
    happens whenever the clock shows a time that fits, twice or not at all.
    """
    second, minute, hour, *days = split(expression)
    fields = read((second, minute, hour, *days))
    if fields.after(START_OF_SEARCH) is None:
        raise ValueError(f"use days that exist; no year has those of {expression!r}")
    is_elapsed = minute.startswith("*") or hour.startswith("*")
    return Cron(" ".join(expression.split()), timezone, fields, clock(timezone), is_elapsed)


def _after(cron: Cron, moment: datetime) -> datetime | None:
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        return None
    if cron.is_elapsed:
        return elapsed.after(cron.fields, cron.clock, moment)
    wall = cron.fields.after(cron.clock.latest_shown(moment))
    return wall and cron.clock.first_showing(wall)


def _newest(cron: Cron, moment: datetime) -> datetime | None:
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        return None
    if cron.is_elapsed:
        return elapsed.newest(cron.fields, cron.clock, moment)
    wall = cron.fields.newest(cron.clock.latest_shown(moment))
    return wall and cron.clock.first_showing(wall)


# In a tick many schedules share an expression and the moment: 0.6 us instead of 10 to 20.
_remembered_after = lru_cache(maxsize=1024)(_after)
_remembered_newest = lru_cache(maxsize=1024)(_newest)


def _in_utc(moment: datetime) -> datetime:
    """Not only for the answer: in its own zone the repeated hour compares equal to the first, and would be mixed up.
    UTC repeats none: a `fold` there means nothing, and must not be taken for one."""
    if moment.utcoffset() is None:
        raise ValueError("the moment has no time zone; use timezone.now() or timezone.make_aware(...)")
    return moment.astimezone(UTC).replace(fold=0)
