"""Witnesses of what an expression means that share nothing with the app: they look at every minute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
START, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
LOOK = timedelta(days=14)  # the shortest time between two changes of those years is twice as long
AROUND = timedelta(hours=26)
NAMES = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))

# Every minute, every so often, at set times, on set days; most of them between 0 and 4 o'clock, where clocks change.
EXPRESSIONS = (
    "* * * * *; */5 * * * *; */7 * * * *; 0 * * * *; 30 * * * *; 15,45 * * * *; */10 2 * * *; */10 0,2 * * *;"
    "* 1-3 * * *; */15 1 * * *; 0 */2 * * *; 30 */3 * * *; 5 */1 * * *; */13 */5 * * *; */20 * * * 0;"
    "*/20 2 * * 6,0; */30 1-2 * 4,10 *; 20 * * 3-11 *; */10 0 1 * *; 0 0 * * *; 0 1 * * *; 30 1 * * *; 0 2 * * *;"
    "30 2 * * *; 0 3 * * *; 59 1 * * *; 1 0 * * *; 15 0,6,12,18 * * *; 0 9 * * *; 0,30 1-3 * * *; 0-59 2 * * *;"
    "0-59/7 1,2 * * *; 10 1-23/2 * * *; 0 2,3 * * *; 30 0-23 * * *; 15,45 0-5 * * *; 59 23 * * *; 0 0,23 * * *;"
    "30 2 * * 0; 30 2 * * sun; 0 2 * 3,10 *; 30 2 25-31 * *; 45 1 29 3 *; 45 1 * 4 *; 0 4 * * mon-fri; 30 23 * * 6;"
    "15 2 1-7 * *; 0 0 1 * *; 30 0 1-7 * 0; 0 0 1 1 *"
)
ALL = tuple(each.strip() for each in EXPRESSIONS.split(";"))


class Change(NamedTuple):
    """One change of the clocks of a zone."""

    zone: str
    at: datetime
    before: timedelta
    after: timedelta

    @property
    def kind(self) -> tuple[timedelta, str]:
        """By how much, and at which time of day."""
        return self.after - self.before, f"{self.at + self.before:%H:%M:%S}"

    @property
    def is_plain(self) -> bool:
        """From one whole hour to another, and not over a midnight."""
        old, new = self.at + self.before, self.at + self.after
        return old.minute == new.minute == 0 and (new < old or old.hour > 0)

    def __str__(self) -> str:
        return f"{self.zone} {self.at:%Y-%m-%dT%H:%M}"


@cache
def tables() -> dict[str, tuple[Change, ...]]:
    """The changes of each zone, of those that share them only of the first."""
    found: dict[tuple[tuple[object, ...], ...], tuple[Change, ...]] = {}
    for zone in sorted(available_timezones() - {"localtime", "Factory"}):
        changes = tuple(_changes(zone))
        found.setdefault(tuple(change[1:] for change in changes), changes)
    return {changes[0].zone: changes for changes in found.values() if changes}


@cache
def kinds() -> tuple[Change, ...]:
    """One change of each kind."""
    return tuple({change.kind: change for change in chain.from_iterable(tables().values())}.values())


def _changes(zone: str) -> Iterator[Change]:
    offset = _offset_in(zone)
    early, before = START, offset(START)
    while early < END:
        late = early + LOOK
        after = offset(late)
        if before != after:
            yield Change(zone, _bisect(early, late, offset), before, after)
        early, before = late, after


def _offset_in(zone: str) -> Callable[[datetime], timedelta]:
    info = ZoneInfo(zone)
    return lambda moment: moment.astimezone(info).utcoffset() or timedelta(0)


def _bisect(early: datetime, late: datetime, offset: Callable[[datetime], timedelta]) -> datetime:
    before = offset(early)
    while late - early > SECOND:
        middle = early + (late - early) // SECOND // 2 * SECOND
        early, late = (middle, late) if offset(middle) == before else (early, middle)
    return late


def fits(expression: str) -> Callable[[datetime], bool]:
    """Whether a wall-clock minute fits five fields, of the plain kind that `ALL` is made of."""
    parts = expression.split()
    minutes, hours, dates, months, weekdays = (
        _values(part, *limits) for part, limits in zip(parts, LIMITS, strict=True)
    )
    both = parts[2] == "*" or parts[4] == "*"

    def fit(wall: datetime) -> bool:
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            return False
        found = wall.day in dates, wall.isoweekday() % 7 in weekdays
        return all(found) if both else any(found)

    return fit


def _values(part: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for each in part.split(","):
        bounds, _, step = each.partition("/")
        spelled = re.sub("[a-z]+", lambda name: str(NAMES[name[0]]), bounds).replace("*", f"{low}-{high}")
        first, _, last = spelled.partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


@cache
def walk(change: Change) -> list[tuple[datetime, datetime]]:
    """Every minute around it, and what the clock shows then."""
    info = ZoneInfo(change.zone)
    count = 2 * AROUND // MINUTE
    moments = [change.at.replace(second=0) - AROUND + number * MINUTE for number in range(count + 1)]
    return [(moment, moment.astimezone(info).replace(tzinfo=None)) for moment in moments]


def walked(expression: str, change: Change) -> list[datetime]:
    """By the rule itself: elapsed time takes what the clock shows, else each time counts once, when it is reached."""
    fit = fits(expression)
    if any(part.startswith("*") for part in expression.split()[:2]):
        return [moment for moment, wall in walk(change)[1:] if fit(wall)]
    found, reached = [], walk(change)[0][1]
    for moment, wall in walk(change)[1:]:
        if wall > reached:
            if any(fit(reached + number * MINUTE) for number in range(1, (wall - reached) // MINUTE + 1)):
                found.append(moment)
            reached = wall
    return found


def simulated(expression: str, change: Change) -> list[datetime]:
    """By cronsim."""
    moments = CronSim(expression, (change.at - AROUND).astimezone(ZoneInfo(change.zone)))
    return list(takewhile(lambda moment: moment <= change.at + AROUND, (each.astimezone(UTC) for each in moments)))
