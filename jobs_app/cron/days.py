"""The two day fields of an expression: which days of a month they mean."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LAST = -1  # the last of a month, where others are counted from 1


@dataclass(frozen=True, kw_only=True)
class Days:
    """A field that is None leaves the choice to the other; two that choose are joined by "or", as cron does."""

    dates: frozenset[int] | None  # LAST is the last day of the month
    working_days: frozenset[int] = frozenset()  # the day from Monday to Friday that is nearest to this date
    weekdays: frozenset[tuple[int, int | None]] | None  # Sunday is 0; with None every one of the month, or which


@lru_cache(maxsize=4096)
def days_of(days: Days, year: int, month: int) -> tuple[int, ...]:
    """The days of that month, in order."""
    first_weekday, length = monthrange(year, month)
    if days.dates is None and days.weekdays is None:
        return tuple(range(1, length + 1))
    found = {day for day in days.dates or () if LAST < day <= length}
    found.update(length for day in days.dates or () if day == LAST)
    found.update(_nearest_working_day(first_weekday, length, date) for date in days.working_days)
    for weekday, number in days.weekdays or ():
        found.update(_weekdays(first_weekday, length, weekday, number))
    return tuple(sorted(found))


def _weekdays(first_weekday: int, length: int, weekday: int, number: int | None) -> Iterator[int]:
    """`first_weekday` counts from Monday as the standard library does, `weekday` from Sunday as cron does."""
    every = range(1 + (weekday - 1 - first_weekday) % 7, length + 1, 7)
    if number is None:
        yield from every
    elif number == LAST or number <= len(every):
        yield every[number if number == LAST else number - 1]


def _nearest_working_day(first_weekday: int, length: int, date: int) -> int:
    """Never in another month: a Saturday that is the 1st becomes Monday the 3rd."""
    day = min(date, length)
    weekday = (first_weekday + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day
