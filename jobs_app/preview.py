"""What is to come: the next slots of an expression or an interval, with a note where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from jobs_app.cron import Cron
from jobs_app.wall_clock import INSTANT, clock


class Slot(NamedTuple):
    at: datetime  # in UTC
    local: datetime
    note: str  # what a change of the clocks did to it; mostly nothing


def cron_slots(cron: Cron, start: datetime, count: int) -> list[Slot]:
    """The first `count` slots later than `start`."""
    found: list[Slot] = []
    at = cron.after(start)
    while at is not None and len(found) < count:
        found.append(Slot(at, at.astimezone(cron.clock.zone), _note(cron, at)))
        at = cron.after(at)
    return found


def interval_slots(seconds: float, start: datetime, count: int, *, timezone: str = "UTC") -> list[Slot]:
    """The same of the grid that begins at `start`. An interval is elapsed time: no change of clocks touches it."""
    interval, zone = timedelta(seconds=seconds), clock(timezone).zone
    if not interval:
        raise ValueError("use an interval that a clock can tell, of a microsecond at least")
    grid = (start.astimezone(UTC) + number * interval for number in range(1, count + 1))
    return [Slot(at, at.astimezone(zone), "") for at in grid]


def _note(cron: Cron, at: datetime) -> str:
    wall = cron.clock.shown(at)
    if len(cron.clock.showings(wall)) == 2:
        return _repeated(_time(wall), wall.fold, cron.is_elapsed)
    return "" if cron.is_elapsed else _skipped(cron, at, wall)


def _repeated(time: str, fold: int, is_elapsed: bool) -> str:
    if fold:
        return f"clocks went back: {time} for the second time"
    return f"clocks go back: {time} comes twice, {'both count' if is_elapsed else 'the first time counts'}"


def _skipped(cron: Cron, at: datetime, wall: datetime) -> str:
    """Which times of the expression a change at `at` went over."""
    before = cron.clock.shown(at - INSTANT)
    first, last = cron.fields.after(before), cron.fields.newest(wall - INSTANT)
    if first is None or last is None or not before < first <= last:
        return ""
    if first == last:
        return f"{_time(first)} does not exist on this day: runs at the shift"
    return f"{_time(first)} to {_time(last)} do not exist on this day: one run at the shift"


def _time(wall: datetime) -> str:
    return f"{wall:%H:%M:%S}" if wall.second else f"{wall:%H:%M}"
