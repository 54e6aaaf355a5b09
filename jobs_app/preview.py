"""What is to come: the next slots of an expression or an interval, with a note where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _

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
        found.append(Slot(at, at.astimezone(cron.clock.zone), note(cron, at)))
        at = cron.after(at)
    return found


def interval_slots(seconds: float, start: datetime, count: int, *, timezone: str = "UTC") -> list[Slot]:
    """The same of the grid that begins at `start`. An interval is elapsed time: no change of clocks touches it."""
    interval, zone = timedelta(seconds=seconds), clock(timezone).zone
    if not interval:
        raise ValueError("use an interval that a clock can tell, of a microsecond at least")
    grid = (start.astimezone(UTC) + number * interval for number in range(1, count + 1))
    return [Slot(at, at.astimezone(zone), "") for at in grid]


def note(cron: Cron, at: datetime) -> str:
    wall = cron.clock.shown(at)
    if len(cron.clock.showings(wall)) == 2:
        return _repeated(_time(wall), wall.fold, cron.is_elapsed)
    return "" if cron.is_elapsed else _skipped(cron, at, wall)


def _repeated(time: str, fold: int, is_elapsed: bool) -> str:
    if fold:
        return _("clocks went back: %(time)s for the second time") % {"time": time}
    if is_elapsed:
        return _("clocks go back: %(time)s comes twice, both count") % {"time": time}
    return _("clocks go back: %(time)s comes twice, the first time counts") % {"time": time}


def _skipped(cron: Cron, at: datetime, wall: datetime) -> str:
    """Which times of the expression a change at `at` went over."""
    before = cron.clock.shown(at - INSTANT)
    first, last = cron.fields.after(before), cron.fields.newest(wall - INSTANT)
    if first is None or last is None or not before < first <= last:
        return ""
    if first == last:
        return _("%(time)s does not exist on this day: runs at the shift") % {"time": _time(first)}
    given = {"first": _time(first), "last": _time(last)}
    return _("%(first)s to %(last)s do not exist on this day: one run at the shift") % given


def _time(wall: datetime) -> str:
    return f"{wall:%H:%M:%S}" if wall.second else f"{wall:%H:%M}"
