"""Celery's crontab as an expression of ours: the same fields, but for days that have to fit both ways."""

from __future__ import annotations

import re

from jobs_app.cron.days import Days
from jobs_app.cron.expression import read, split

LONG_NAME = re.compile(r"[a-z]{4,}")  # monday, january
TO_ITSELF = re.compile(r"(?<![\w-])(\w+)-\1(?:/\d+)?(?=,|$)")
WEEKS = tuple(frozenset(range(first, min(first + 7, 32))) for first in range(1, 32, 7))
EVERY_DATE = frozenset(range(1, 32))
EVERY_WEEKDAY = frozenset((day, None) for day in range(7))
ALL = "*"


def expression(*, minute: str, hour: str, day_of_month: str, month_of_year: str, day_of_week: str) -> str:
    """ValueError where no expression means the same."""
    fields = [_written(each) for each in (minute, hour, day_of_month, month_of_year, day_of_week)]
    minutes, hours, dates, months, weekdays = fields
    days = read(split(" ".join(fields))).days
    # A field that leaves no day out must say so: beside the other one it would add days to it.
    dates = dates if days.dates and not days.dates >= EVERY_DATE else ALL
    weekdays = weekdays if days.weekdays and not days.weekdays >= EVERY_WEEKDAY else ALL
    if ALL in (dates, weekdays):
        return " ".join((minutes, hours, dates, months, weekdays))
    return " ".join((minutes, hours, ALL, months, _of_whole_weeks(days, f"{dates} and {weekdays}")))


def _written(field: str) -> str:
    """As cron writes it: without spaces, names of three letters, 5 for 5-5."""
    text = re.sub(r"\s", "", str(field)).lower() or ALL
    return TO_ITSELF.sub(r"\1", LONG_NAME.sub(lambda name: name[0][:3], text))


def _of_whole_weeks(days: Days, written: str) -> str:
    """Celery wants a day to fit both fields, cron one of them. Only the Mondays from the 8th to the 14th are also the
    second Monday."""
    dates = days.dates or frozenset()
    numbers = [number for number, week in enumerate(WEEKS, start=1) if week <= dates]
    whole = frozenset[int]().union(*(WEEKS[number - 1] for number in numbers))
    plain = sorted(day for day, which in days.weekdays or () if which is None)
    if whole != dates or not plain:
        raise ValueError(
            f"Celery runs it on days that fit both the date and the weekday ({written}), a cron on days that fit one "
            "of them: no cron says the same. Choose by date alone, and return early in the handler on other weekdays"
        )
    return ",".join(f"{day}#{number}" for number in numbers for day in plain)
