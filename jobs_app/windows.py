"""Maintenance windows: times of day at which work must not start, and the arithmetic of when that is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple

from jobs_app import values
from jobs_app.errors import SettingsInvalid
from jobs_app.limits import SYSTEM_QUEUE
from jobs_app.options import read
from jobs_app.wall_clock import clock

TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
SETTING = "settings.JOBS['MAINTENANCE_WINDOWS']"
NO_LEAD = timedelta(0)
# Windows repeat each week, which a change of the clocks makes a little longer. Who is held for more is held for ever.
FOR_EVER = timedelta(days=8)


class Span(NamedTuple):
    """From one moment until just before another, both in UTC."""

    start: datetime
    end: datetime

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


@dataclass(frozen=True, kw_only=True)
class Window:
    """From `start`, by the clocks of its zone, for so many minutes. With neither queues nor job types it covers all."""

    name: str
    start: time
    minutes: int
    timezone: str = "UTC"
    days: frozenset[int] = frozenset()  # on which it starts, 0 is Monday; none is every day
    queues: frozenset[str] = frozenset()
    job_types: frozenset[str] = frozenset()

    def covers(self, queue: str, job_type: str) -> bool:
        """Is this work that must not start? The app's own chores always may."""
        if queue == SYSTEM_QUEUE:
            return False
        is_for_all = not self.queues and not self.job_types
        return is_for_all or queue in self.queues or job_type in self.job_types

    def span_at(self, moment: datetime) -> Span | None:
        """The occurrence that is open at this moment."""
        return next((span for span in self._spans(moment) if span.contains(moment)), None)

    def next_span(self, moment: datetime) -> Span:
        """The first occurrence that starts then or later."""
        return next(span for span in self._spans(moment) if span.start >= moment)

    def _spans(self, near: datetime) -> Iterator[Span]:
        """In order: all that may be open at this moment, and those of the week after it."""
        wall, length = clock(self.timezone), timedelta(minutes=self.minutes)
        today = wall.shown(near).date()
        for number in range(-2, 10):
            day = today + timedelta(days=number)
            if not self.days or day.weekday() in self.days:
                start = wall.first_showing(datetime.combine(day, self.start))
                yield Span(start, start + length)


class Open(NamedTuple):
    window: Window
    span: Span


def first_open(windows: Sequence[Window], queue: str, job_type: str, now: datetime) -> Open | None:
    """The first of the windows that covers such a job and is open."""
    for window in windows:
        if window.covers(queue, job_type) and (span := window.span_at(now)):
            return Open(window, span)
    return None


def hold_until(
    windows: Sequence[Window],
    queue: str,
    job_type: str,
    now: datetime,
    leads: Mapping[Window, timedelta] = {},
) -> datetime | None:
    """When such work may start again; None: now.

    It may where no window is open that covers it, and each starts later than its lead from then, or just then. Windows
    that follow each other sooner than that hold it together.
    """
    covering = [window for window in windows if window.covers(queue, job_type)]
    until = now
    while until - now < FOR_EVER and (end := _held_until(covering, until, leads)):
        until = end
    return until if until > now else None


class Deferral(NamedTuple):
    """Until when a job must wait, and the first window that says so."""

    until: datetime
    window: Window


def deferral(windows: Sequence[Window], queue: str, job_type: str, now: datetime) -> Deferral | None:
    """What a job meets that would start now."""
    found = first_open(windows, queue, job_type, now)
    until = hold_until(windows, queue, job_type, now)
    return Deferral(until, found.window) if found and until else None


def quiet_span(windows: Sequence[Window], moment: datetime) -> Span:
    """From this moment until the next at which one of the windows is open; empty if one is open now."""
    if any(window.span_at(moment) for window in windows):
        return Span(moment, moment)
    return Span(moment, min(window.next_span(moment).start for window in windows))


def _held_until(covering: Sequence[Window], moment: datetime, leads: Mapping[Window, timedelta]) -> datetime | None:
    for window in covering:
        lead = leads.get(window, NO_LEAD)
        span = window.span_at(moment)
        if span is None and lead:
            coming = window.next_span(moment)
            span = coming if coming.start < moment + lead else None
        if span is not None:
            return span.end
    return None


def time_of_day(value: object) -> time:
    if isinstance(value, time) and value.tzinfo is None:
        return value
    match = TIME_OF_DAY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError('use a time of day as hours and minutes, such as "07:00"')
    return time(int(match[1]), int(match[2]))


def zone_name(value: object) -> str:
    name = values.text(value, longest=64, shortest=1)
    clock(name)
    return name


def weekdays(value: object) -> frozenset[int]:
    return _set_of(value, partial(values.whole, low=0, high=6), "days from 0 (Monday) to 6 (Sunday)")


def names(value: object) -> frozenset[str]:
    return _set_of(value, values.name, 'names, such as ["mail", "reports"]')


def queue_names(value: object) -> frozenset[str]:
    found = names(value)
    if SYSTEM_QUEUE in found:
        raise ValueError(f"{SYSTEM_QUEUE} does the app's own chores and is never stopped")
    return found


def _set_of(value: object, reader: Callable[[object], Any], what: str) -> frozenset[Any]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError(f"use a list of {what}")
    return frozenset(reader(each) for each in value)


READERS: Mapping[str, Callable[[Any], Any]] = {
    "name": partial(values.text, longest=120, shortest=1),
    "start": time_of_day,
    "minutes": partial(values.whole, low=1, high=24 * 60),
    "timezone": zone_name,
    "days": weekdays,
    "queues": queue_names,
    "job_types": names,
}


def from_settings(given: str | Sequence[Any], *, minutes: int) -> tuple[Window, ...]:
    """`settings.JOBS["MAINTENANCE_WINDOWS"]`: texts and dicts, or one text. `minutes` is for those that say none."""
    each = given.split(",") if isinstance(given, str) else given
    wanted = [(number, one) for number, one in enumerate(each) if not (isinstance(one, str) and not one.strip())]
    return tuple(_from_setting(one, f"{SETTING}[{number}]", minutes) for number, one in wanted)


def _from_setting(given: Any, where: str, minutes: int) -> Window:
    if not isinstance(given, str | Mapping):
        raise SettingsInvalid(f'{where} must be a text such as "07:00", or a dict, not {given!r}.')
    told = {"start": given} if isinstance(given, str) else given
    if "start" not in told:
        raise SettingsInvalid(f'{where} does not say when it starts: give a start such as "07:00".')
    chosen = {"minutes": minutes} | read(told, READERS, SettingsInvalid, where)
    chosen.setdefault("name", f"{chosen['start']:%H:%M} {chosen.get('timezone', 'UTC')}")
    return Window(**chosen)
