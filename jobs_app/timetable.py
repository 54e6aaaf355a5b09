"""When something comes back: at whole intervals from where it stands, by cron in a zone, or once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice

from jobs_app import durations
from jobs_app.cron import Cron, parse


@dataclass(frozen=True, kw_only=True)
class Timetable:
    """One of `every`, `cron` and `at`. A schedule stands at a slot; all that follow are counted from there."""

    every: float | None = None  # seconds
    cron: str = ""
    timezone: str = "UTC"  # of the cron
    at: datetime | None = None

    def after(self, slot: datetime) -> datetime | None:
        """The slot that follows `slot`; None if that was the last."""
        if self.every is not None:
            return slot + self._interval
        return self._cron.after(slot) if self.cron else None

    def newest(self, start: datetime, now: datetime) -> datetime:
        """The last slot that has passed, where `start` is one that has."""
        if self.every is not None:
            return start + (now - start) // self._interval * self._interval
        newest = self._cron.newest(now) if self.cron else None
        return start if newest is None else max(start, newest)

    def first_from(self, start: datetime, moment: datetime) -> datetime | None:
        """The first slot at `moment` or later, of those from `start` on."""
        return start if moment <= start else self.around(start, moment)

    def around(self, slot: datetime, moment: datetime) -> datetime | None:
        """The first slot at `moment` or later, also before `slot`, which is one of them."""
        if self.every is not None:
            return slot - (slot - moment) // self._interval * self._interval
        if self.cron:
            return self._cron.after(moment - timedelta(microseconds=1))
        return slot if moment <= slot else None

    def slots(self, start: datetime, now: datetime) -> Iterator[datetime]:
        """`start` and all that follow, up to now."""
        slot: datetime | None = start
        while slot is not None and slot <= now:
            yield slot
            slot = self.after(slot)

    def count(self, start: datetime, now: datetime, *, most: int) -> int:
        """How many slots there are from `start` up to now. Those of a cron are counted up to `most`."""
        if self.every is not None:
            return max(0, (now - start) // self._interval + 1)
        return sum(1 for _ in islice(self.slots(start, now), most))

    def first(self, now: datetime) -> datetime | None:
        """Where a new schedule begins: an interval at once, a cron with its next slot."""
        if self.every is not None:
            return now
        return self._cron.after(now) if self.cron else self.at

    def resumed(self, slot: datetime, now: datetime) -> datetime | None:
        """Where one goes on that was held up at `slot`, without the slots that it missed meanwhile.

        An interval goes on at once, a cron with its next slot, a single moment when it comes, or at once if it has.
        """
        if self.every is not None:
            return now
        if slot >= now:
            return slot
        return self._cron.after(now) if self.cron else now

    def __str__(self) -> str:
        if self.every is not None:
            return f"every {durations.exact(self.every)}"
        if self.cron:
            return self.cron if self.timezone == "UTC" else f"{self.cron} {self.timezone}"
        return f"once at {self.at}"

    @cached_property
    def _interval(self) -> timedelta:
        interval = timedelta(seconds=self.every or 0)
        if not interval:
            raise ValueError(f"an interval of {self.every} s is shorter than a clock can tell")
        return interval

    @cached_property
    def _cron(self) -> Cron:
        return parse(self.cron, self.timezone)
