"""What the schedules will make in the next hour, told as people ask: which job type, when, how many at once."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count

from jobs_app.lifecycle.rollups import minute_of
from jobs_app.models import ScheduleState
from jobs_app.registry import SYSTEM_NAMES
from jobs_app.timetable import Timetable

HOUR = timedelta(hours=1)
MOST_RULES = 5000  # schedules with the same rule and the same next slot are one
MOST_SLOTS = 5000  # followed, in the order of time
MOST_ENTRIES = 15
OFTEN = 4  # a job type that comes in more minutes than these is told once, with all its slots

COLUMNS = ("job_type", "interval_seconds", "cron", "timezone", "once_at", "next_run_at")


class Entry(NamedTuple):
    """The slots of one job type in one minute, or of all minutes from that one on."""

    at: datetime  # where the minute begins; slots that are late are in this one
    job_type: str
    slots: int
    is_often: bool = False


@dataclass(frozen=True, kw_only=True)
class NextHour:
    entries: Sequence[Entry]
    complete_until: datetime | None  # None: it is told to its end


class _Rule(NamedTuple):
    job_type: str
    timetable: Timetable
    schedules: int


def next_hour(connection: BaseDatabaseWrapper, now: datetime, *, limit: int = MOST_ENTRIES) -> NextHour:
    """Followed slot by slot, in the order of time: what is told is complete as far as it goes."""
    found: Counter[tuple[datetime, str]] = Counter()
    rules, is_cut = _rules(connection, now + HOUR)
    until = rules[-1][0] if is_cut else None
    for followed, (slot, rule) in enumerate(_in_order(rules, now, now + HOUR)):
        if followed >= MOST_SLOTS:
            until = slot
            break
        found[max(minute_of(slot), minute_of(now)), rule.job_type] += rule.schedules
    entries = _merged(found)
    if len(entries) > limit:
        until = min(entries[limit].at, until or entries[limit].at)
    return NextHour(entries=entries[:limit], complete_until=until)


def _merged(found: Counter[tuple[datetime, str]]) -> list[Entry]:
    """What comes often would push all that comes once out of sight."""
    minutes = Counter(name for _, name in found)
    slots: Counter[str] = Counter()
    for (_, name), number in found.items():
        slots[name] += number
    entries, told = [], set()
    for (at, name), number in sorted(found.items()):
        if minutes[name] <= OFTEN:
            entries.append(Entry(at, name, number))
        elif name not in told:
            told.add(name)
            entries.append(Entry(at, name, slots[name], is_often=True))
    return entries


def _rules(connection: BaseDatabaseWrapper, end: datetime) -> tuple[list[tuple[datetime, _Rule]], bool]:
    """By their next slot, earliest first, by the index of what is due; and whether there are more."""
    rows = ScheduleState.objects.using(connection.alias).filter(
        paused=False, retired=False, disabled=False, next_run_at__lte=end
    )
    rows = rows.exclude(job_type__startswith=SYSTEM_NAMES)
    grouped = rows.values_list(*COLUMNS).annotate(Count("pk")).order_by("next_run_at", "job_type")[: MOST_RULES + 1]
    found = [
        (slot, _Rule(job_type, Timetable(every=every, cron=cron, timezone=zone, at=once), schedules))
        for job_type, every, cron, zone, once, slot, schedules in grouped
        if slot is not None
    ]
    return found[:MOST_RULES], len(found) > MOST_RULES


def _in_order(
    rules: Sequence[tuple[datetime, _Rule]], now: datetime, end: datetime
) -> Iterator[tuple[datetime, _Rule]]:
    """Every slot of every rule, earliest first. Of those that have passed, the first: how many of the others are made
    up for is a matter of its turn."""
    turn = count()  # rules cannot be compared
    waiting = [(slot, next(turn), rule) for slot, rule in rules]
    heapq.heapify(waiting)
    while waiting:
        slot, _, rule = heapq.heappop(waiting)
        if slot > end:
            return
        yield slot, rule
        following = _after(rule.timetable, slot, now)
        if following is not None and following > slot:
            heapq.heappush(waiting, (following, next(turn), rule))


def _after(timetable: Timetable, slot: datetime, now: datetime) -> datetime | None:
    """A cron that is none makes no slots: its turn fails, and its schedule tells why."""
    try:
        following = timetable.after(slot)
        return following if following is None or following >= now else timetable.around(following, now)
    except (ValueError, OverflowError):
        return None
