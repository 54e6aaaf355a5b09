"""What becomes of the slots that a schedule is late for: which get a job, when it starts, and which are passed over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from jobs_app.timetable import Timetable

ON_TIME = timedelta(seconds=60)  # a slot so late is not missed yet: ticks take their time
MOST_COUNTED = 1000  # slots of a cron that were passed over; beyond it the number is "at least"


@dataclass(frozen=True, kw_only=True)
class CatchUpRule:
    """`all` takes the oldest first, `most` of them per turn; `once` the newest; `skip` the newest if it is on time."""

    policy: str = "once"
    most: int = 10
    window: float | None = None  # seconds; slots older than that get no job
    spread: float = 0  # seconds over which the jobs of a turn are spread


class Turn(NamedTuple):
    """What a due schedule does now."""

    slots: Sequence[datetime]  # that get a job, oldest first
    next_run_at: datetime | None  # where the schedule then stands
    skipped: int = 0
    skipped_from: datetime | None = None  # the oldest slot that was passed over


def turn(timetable: Timetable, rule: CatchUpRule, *, start: datetime, now: datetime) -> Turn:
    """`start` is where the schedule stands: a slot at or before `now` that has had no turn."""
    first = start
    if rule.window is not None:
        in_window = timetable.first_from(start, now - timedelta(seconds=rule.window))
        if in_window is None or in_window > now:
            return _passed_over(timetable, start, now)
        first = in_window
    if rule.policy == "all":
        slots = list(islice(timetable.slots(first, now), rule.most))
        return _taken(timetable, start, first, slots)
    newest = timetable.newest(first, now)
    if rule.policy == "skip" and now - newest > ON_TIME:
        return _passed_over(timetable, start, now)
    return _taken(timetable, start, newest, [newest])


def delays(count: int, spread: float) -> list[float]:
    """Seconds until each of a turn's jobs starts: the first at once, the others evenly over the spread."""
    return [float(math.ceil(place * spread / count)) for place in range(count)]


def _taken(timetable: Timetable, start: datetime, first: datetime, slots: Sequence[datetime]) -> Turn:
    before = first - timedelta(microseconds=1)
    skipped = timetable.count(start, before, most=MOST_COUNTED) if first > start else 0
    return Turn(slots, timetable.after(slots[-1]), skipped, start if skipped else None)


def _passed_over(timetable: Timetable, start: datetime, now: datetime) -> Turn:
    skipped = timetable.count(start, now, most=MOST_COUNTED)
    return Turn([], timetable.after(timetable.newest(start, now)), skipped, start)
