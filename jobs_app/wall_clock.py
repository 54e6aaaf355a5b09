"""The clock on the wall of a zone: what it shows at a moment, and when it shows a time: once, twice or never."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

INSTANT = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
MACHINES_OWN = {"localtime", "Factory"}  # mean another zone on another machine, or none


@dataclass(frozen=True)
class Clock:
    """A wall-clock time is a naive datetime, a moment an aware one in UTC."""

    zone: tzinfo

    def shown(self, moment: datetime) -> datetime:
        """What it shows; `fold` is 1 when it shows that for the second time."""
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def showings(self, wall: datetime) -> tuple[datetime, ...]:
        """The moments at which it shows `wall`: none when clocks go forward over it, two when they go back."""
        first, second = self._readings(wall)
        if first == second:
            return (first,)
        return (first, second) if first < second else ()

    def change_at(self, wall: datetime) -> datetime:
        """The moment of the change that makes the clock skip or repeat `wall`."""
        before, after = sorted(self._readings(wall.replace(microsecond=0)))
        offset = before.astimezone(self.zone).utcoffset()
        while after - before > SECOND:
            middle = before + (after - before) // SECOND // 2 * SECOND
            if middle.astimezone(self.zone).utcoffset() == offset:
                before = middle
            else:
                after = middle
        return after

    def first_showing(self, wall: datetime) -> datetime:
        """The first moment at which it shows `wall`; the change, when that goes over it."""
        showings = self.showings(wall)
        return showings[0] if showings else self.change_at(wall)

    def latest_shown(self, moment: datetime) -> datetime:
        """The latest time that it has shown by then: in a repeated hour the end of the first."""
        wall = self.shown(moment)
        return self.shown(self.change_at(wall) - INSTANT) if wall.fold else wall

    def _readings(self, wall: datetime) -> tuple[datetime, datetime]:
        """`wall` by the offset before a change and by the one after it; they are the same where nothing changes."""
        local = wall.replace(tzinfo=self.zone, fold=0)
        return local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)


@lru_cache(maxsize=1024)
def clock(timezone: str) -> Clock:
    """The clock of an IANA zone; UTC needs no zones to be installed."""
    if timezone == "UTC":
        return Clock(UTC)
    if timezone in zone_names():
        return Clock(ZoneInfo(timezone))
    if not zone_names():
        raise ValueError("no time zones are installed here; pip install tzdata, or use UTC")
    raise ValueError(f'use a time zone such as "Europe/Paris" or "UTC", not {timezone!r}{_hint(timezone)}')


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones() - MACHINES_OWN)


def _hint(timezone: str) -> str:
    """People write cities, and in any case."""
    names = {name.rpartition("/")[2].lower(): name for name in sorted(zone_names())}
    names |= {name.lower(): name for name in zone_names()}
    near = difflib.get_close_matches(str(timezone).lower(), names, n=1)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""
