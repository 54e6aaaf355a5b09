"""An expression's fields as numbers: the wall-clock times that fit them, forwards and backwards, in no zone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs_app.cron.days import Days, days_of

SECOND = timedelta(seconds=1)
FIRST_YEAR, LAST_YEAR = 2, 9998  # those that have a neighbour in every zone
# The longest wait that exists is for a fifth Monday in February, from 2072 to 2112: found in 0.2 ms. Looking for days
# that do not exist in all of these years takes 0.2 ms for one month and 2 for twelve.
MOST_YEARS = 40

Time = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Each field sorted and never empty."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: Days

    def after(self, wall: datetime) -> datetime | None:
        """The first that fits and is later than `wall`."""
        start = wall.replace(microsecond=0, fold=0) + SECOND
        time = self._time_from(start)
        if time and self._fits_day(start):
            return datetime(start.year, start.month, start.day, *time)
        for year, month in self._months_from(start):
            for day in days_of(self.days, year, month):
                if (year, month, day) > (start.year, start.month, start.day):
                    return datetime(year, month, day, self.hours[0], self.minutes[0], self.seconds[0])
        return None

    def newest(self, wall: datetime) -> datetime | None:
        """The last that fits and is not later than `wall`."""
        time = self._time_until(wall)
        if time and self._fits_day(wall):
            return datetime(wall.year, wall.month, wall.day, *time)
        for year, month in self._months_until(wall):
            for day in reversed(days_of(self.days, year, month)):
                if (year, month, day) < (wall.year, wall.month, wall.day):
                    return datetime(year, month, day, self.hours[-1], self.minutes[-1], self.seconds[-1])
        return None

    def _fits_day(self, wall: datetime) -> bool:
        return wall.month in self.months and wall.day in days_of(self.days, wall.year, wall.month)

    def _time_from(self, wall: datetime) -> Time | None:
        """The first time of a day that is not before that of `wall`."""
        if wall.hour in self.hours:
            if wall.minute in self.minutes and (place := bisect_left(self.seconds, wall.second)) < len(self.seconds):
                return wall.hour, wall.minute, self.seconds[place]
            if (place := bisect_right(self.minutes, wall.minute)) < len(self.minutes):
                return wall.hour, self.minutes[place], self.seconds[0]
        if (place := bisect_right(self.hours, wall.hour)) < len(self.hours):
            return self.hours[place], self.minutes[0], self.seconds[0]
        return None

    def _time_until(self, wall: datetime) -> Time | None:
        """The last time of a day that is not after that of `wall`."""
        if wall.hour in self.hours:
            if wall.minute in self.minutes and (place := bisect_right(self.seconds, wall.second)):
                return wall.hour, wall.minute, self.seconds[place - 1]
            if place := bisect_left(self.minutes, wall.minute):
                return wall.hour, self.minutes[place - 1], self.seconds[-1]
        if place := bisect_left(self.hours, wall.hour):
            return self.hours[place - 1], self.minutes[-1], self.seconds[-1]
        return None

    def _months_from(self, wall: datetime) -> Iterator[tuple[int, int]]:
        yield from ((wall.year, month) for month in self.months if month >= wall.month)
        for year in range(wall.year + 1, min(wall.year + MOST_YEARS, LAST_YEAR) + 1):
            yield from ((year, month) for month in self.months)

    def _months_until(self, wall: datetime) -> Iterator[tuple[int, int]]:
        yield from ((wall.year, month) for month in reversed(self.months) if month <= wall.month)
        for year in range(wall.year - 1, max(wall.year - MOST_YEARS, FIRST_YEAR) - 1, -1):
            yield from ((year, month) for month in reversed(self.months))
