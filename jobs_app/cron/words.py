"""When something comes back, in words that people read out: an expression, an interval, or one moment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.cron.day_words import days_told, listed, months_told, ranges
from jobs_app.cron.expression import read, split
from jobs_app.cron.fields import Fields
from jobs_app.timetable import Timetable

SIZES = (("day", 86400), ("hour", 3600), ("minute", 60))  # in seconds
MOST_TIMES = 6  # of a day, each named; beyond it minutes and hours are told apart
LEAST_STEPS = 3  # twice a day is told by its two times
EVERY_60, EVERY_24 = tuple(range(60)), tuple(range(24))


def told(timetable: Timetable) -> str:
    """What a schedule's rule means. A cron that cannot be read is shown as it is written."""
    if timetable.every is not None:
        return interval(timetable.every)
    if timetable.at is not None:
        return _("once, %(moment)s") % {"moment": date_format(timezone.localtime(timetable.at), "DATETIME_FORMAT")}
    try:
        return expression(timetable.cron)
    except ValueError:
        return timetable.cron


def expression(text: str) -> str:
    """The fields of a cron as a sentence; from the numbers they mean, so that it never says more than is true."""
    fields = read(split(text))
    parts = (_time(fields), days_told(fields.days), months_told(fields.months))
    return ", ".join(part for part in parts if part)


def interval(seconds: float) -> str:
    """Nothing left out: every hour, every 15 minutes, every 1 day 6 hours."""
    amounts: list[tuple[str, float]] = []
    rest = round(seconds, 6)
    for unit, size in SIZES:
        count, rest = divmod(rest, size)
        amounts += [(unit, count)] if count else []
    if rest or not amounts:
        amounts.append(("second", round(rest, 6)))
    if len(amounts) == 1:
        return _every(*amounts[0])
    return _("every %(time)s") % {"time": " ".join(_amount(unit, count) for unit, count in amounts)}


def _time(fields: Fields) -> str:
    """Times of the day where there are a few; else how often, and within which hours."""
    exact = fields.seconds == (0,)
    if exact and fields.minutes == (0,) and (step := _hour_step(fields.hours)):
        return _every("hour", step)
    if len(fields.hours) * len(fields.minutes) * len(fields.seconds) <= MOST_TIMES and fields.hours != EVERY_24:
        return _clock_times(fields, exact)
    return ", ".join(_clauses(fields, exact))


def _clock_times(fields: Fields, exact: bool) -> str:
    numbers = (fields.hours, fields.minutes) if exact else (fields.hours, fields.minutes, fields.seconds)
    texts = [":".join(f"{number:02}" for number in time) for time in product(*numbers)]
    is_daily = fields.days.dates is None and fields.days.weekdays is None
    return (_("every day at %(times)s") if is_daily else _("at %(times)s")) % {"times": listed(texts)}


def _clauses(fields: Fields, exact: bool) -> list[str]:
    """The finest first: every 10 seconds, in minutes 0 to 4, in hour 9."""
    clauses = []
    if not exact:
        clauses.append(_steps("second", fields.seconds) or _at_seconds(fields.seconds))
    elif len(fields.minutes) == 1 and len(ranges(fields.hours)) == 1 and fields.hours != EVERY_24:
        return [_hourly(fields.hours, fields.minutes[0])]
    if exact:
        clauses.append(_steps("minute", fields.minutes) or _at_minutes(fields.minutes, fields.hours))
    elif fields.minutes != EVERY_60:
        clauses.append(_in_minutes(fields.minutes))
    if fields.hours != EVERY_24:
        clauses.append(_in_hours(fields.hours))
    return clauses


def _steps(unit: str, numbers: Sequence[int]) -> str:
    """Every so many, where the last is as far from the first of the next round as the others are from each other."""
    step = _step(numbers, 60)
    if step is None:
        return ""
    every = _every(unit, step)
    if numbers[0] == 0:
        return every
    given = {"every": every, "first": numbers[0]}
    if unit == "second":
        return _("%(every)s from second %(first)s on") % given
    return _("%(every)s from minute %(first)s on") % given


def _hour_step(hours: Sequence[int]) -> int | None:
    return _step(hours, 24) if hours[0] == 0 and len(hours) >= LEAST_STEPS else None


def _hourly(hours: Sequence[int], minute: int) -> str:
    first, last = (f"{hour:02}:{minute:02}" for hour in (hours[0], hours[-1]))
    return _("every hour from %(first)s to %(last)s") % {"first": first, "last": last}


def _step(numbers: Sequence[int], size: int) -> int | None:
    if len(numbers) < 2 or size % len(numbers):
        return None
    step = size // len(numbers)
    return step if tuple(numbers) == tuple(range(numbers[0], size, step)) else None


def _every(unit: str, count: float) -> str:
    if count != 1:
        return _("every %(time)s") % {"time": _amount(unit, count)}
    texts = {"day": _("every day"), "hour": _("every hour"), "minute": _("every minute"), "second": _("every second")}
    return texts[unit]


def _amount(unit: str, count: float) -> str:
    number = int(count) if count == int(count) else 2  # a part of a second is told as many are
    texts = {
        "day": ngettext("%(count)s day", "%(count)s days", number),
        "hour": ngettext("%(count)s hour", "%(count)s hours", number),
        "minute": ngettext("%(count)s minute", "%(count)s minutes", number),
        "second": ngettext("%(count)s second", "%(count)s seconds", number),
    }
    return texts[unit] % {"count": f"{count:.15g}"}


def _at_minutes(minutes: Sequence[int], hours: Sequence[int]) -> str:
    given = {"minutes": listed(ranges(minutes))}
    if hours != EVERY_24:
        return ngettext("at minute %(minutes)s", "at minutes %(minutes)s", len(minutes)) % given
    if minutes == (0,):
        return _("every hour")
    return ngettext("every hour at minute %(minutes)s", "every hour at minutes %(minutes)s", len(minutes)) % given


def _at_seconds(seconds: Sequence[int]) -> str:
    given = {"seconds": listed(ranges(seconds))}
    return ngettext("at second %(seconds)s", "at seconds %(seconds)s", len(seconds)) % given


def _in_minutes(minutes: Sequence[int]) -> str:
    given = {"minutes": listed(ranges(minutes))}
    return ngettext("in minute %(minutes)s", "in minutes %(minutes)s", len(minutes)) % given


def _in_hours(hours: Sequence[int]) -> str:
    return ngettext("in hour %(hours)s", "in hours %(hours)s", len(hours)) % {"hours": listed(ranges(hours))}
