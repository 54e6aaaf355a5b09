"""From the text of an expression to its fields. What the text means is croniter's word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from croniter import croniter
from croniter.croniter import CroniterError

from jobs_app.cron.days import LAST, Days
from jobs_app.cron.fields import Fields

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LONGEST = 200  # characters
WRITE = 'use five fields, "minute hour day month weekday", such as "0 9 * * mon-fri"; six with seconds first'
NUMBERS = (
    "0 to 59 for the second",
    "0 to 59 for the minute",
    "0 to 23 for the hour",
    "1 to 31, L (the last) or 15W (the working day nearest to the 15th) for the day",
    "1 to 12 or jan to dec for the month",
    "0 to 7, sun to sat, mon#2 (the second Monday) or L5 (the last Friday) for the weekday",
)
ALONE = ("{} * * * *", "{} * * * *", "* {} * * *", "* * {} * *", "* * * {} *", "* * * * {}")
CHOSEN_FOR_YOU = re.compile(r"[hr]\b")
TO_ITSELF = re.compile(r"(?:^|,)(\w+)-\1(?:[,/]|$)")
NUMBERED_WEEKDAY = re.compile(r"\S+#\S+|l\d+")


def split(text: object) -> list[str]:
    """Six fields as they are written, seconds first; macros are spelled out, and five fields get the second 0."""
    if not isinstance(text, str) or not text.isascii() or len(text) > LONGEST:
        raise ValueError(WRITE)
    parts = text.lower().split()
    if len(parts) == 1 and parts[0].startswith("@"):
        if parts[0] not in MACROS:
            raise ValueError(f"use one of {', '.join(MACROS)}, or five fields, not {text!r}")
        parts = MACROS[parts[0]].split()
    if len(parts) not in (5, 6):
        raise ValueError(f"{WRITE}; {text!r} has {len(parts)}")
    return parts if len(parts) == 6 else ["0", *parts]


def read(parts: Sequence[str]) -> Fields:
    """What six fields mean."""
    numbered = {bool(NUMBERED_WEEKDAY.fullmatch(weekday)) for weekday in parts[5].split(",")}
    if len(numbered) == 2:
        raise ValueError(f"use either weekdays such as mon,fri or numbered ones such as mon#2,L5, not {parts[5]!r}")
    for part, alone, numbers in zip(parts, ALONE, NUMBERS, strict=True):
        _check(part, alone, numbers)
    # Without the seconds, which are read as minutes are: with a sixth field croniter takes no 7 for Sunday, and
    # the day 0 for the 1st.
    found = croniter(" ".join(parts[1:]), 0.0)
    seconds = croniter(ALONE[0].format(parts[0]), 0.0).expanded[0]
    minutes, hours, _, months, _ = found.expanded
    return Fields(
        seconds=_numbers(seconds, 0, 59),
        minutes=_numbers(minutes, 0, 59),
        hours=_numbers(hours, 0, 23),
        months=_numbers(months, 1, 12),
        days=_days(found),
    )


def _check(part: str, alone: str, numbers: str) -> None:
    if CHOSEN_FOR_YOU.match(part):
        raise ValueError(f"use {numbers}, not {part!r}: H and R would mean another time at each reading")
    if same := TO_ITSELF.search(part):
        raise ValueError(f"use {same[1]} for that alone or * for all, not {part!r}, which is read in both ways")
    try:
        croniter.expand(alone.format(part))
    except CroniterError:
        raise ValueError(f"use {numbers}, also *, */2, 1-5 or 1,3, not {part!r}") from None


def _days(found: Any) -> Days:
    """A croniter older than 6.2 knows no working days, and refuses them."""
    _, _, dates, _, weekdays = found.expanded
    near = frozenset(getattr(found, "nearest_weekday", ()))
    numbered = found.nth_weekday_of_month
    every = None if "*" in weekdays else frozenset((weekday, None) for weekday in weekdays)
    chosen = frozenset((day, LAST if each == "l" else each) for day, numbers in numbered.items() for each in numbers)
    return Days(
        dates=None if "*" in dates else frozenset(LAST if date == "l" else date for date in dates) - near,
        working_days=near,
        weekdays=chosen or every,
    )


def _numbers(values: Iterable[Any], low: int, high: int) -> tuple[int, ...]:
    return tuple(range(low, high + 1)) if "*" in values else tuple(sorted(values))
