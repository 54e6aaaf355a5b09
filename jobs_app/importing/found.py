"""A periodic task of another package in words that are not its own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs_app import values
from jobs_app.errors import JobsError
from jobs_app.importing.tables import Row
from jobs_app.schedule_options import interval
from jobs_app.timetable import Timetable
from jobs_app.values import UNSTORABLE

UNUSABLE = re.compile(r"[^A-Za-z0-9._:-]+")
LONGEST_NAME = 120
# What values that nobody thought of may raise, deep in what reads them. Their row alone cannot be imported then.
ODD = (JobsError, ValueError, TypeError, OverflowError)


@dataclass(frozen=True, kw_only=True)
class When:
    """When it comes back, and where it stands: the slot that comes next, or came and was not taken."""

    timetable: Timetable
    stands_at: datetime | None = None  # None: where a new schedule begins


@dataclass(frozen=True, kw_only=True)
class Found:
    """One row. What could not be read of it is in `problem`, and the rest then says nothing."""

    old_name: str
    name: str
    task: str  # dotted path of what it calls
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    when: When | None = None
    is_enabled: bool = True
    description: str = ""
    notes: tuple[str, ...] = ()  # what is imported in another way, or not at all
    queue: str = ""
    priority: int | None = None
    problem: str = ""  # why it cannot be imported
    is_needless: bool = False  # and why nobody misses it


def once(moment: datetime) -> When:
    """Also if it has passed: who left it there did not run it."""
    return When(timetable=Timetable(at=moment), stands_at=moment)


def every(seconds: float, told: str) -> Timetable:
    """An interval of a length that schedules may have, told as it is there."""
    try:
        return Timetable(every=interval(seconds))
    except ValueError as problem:
        raise ValueError(f"it comes every {told}: {problem}") from None


def usable_name(old: str | None, *, otherwise: str) -> str:
    """A name that schedules may have, the same for the same row each time."""
    plain = unicodedata.normalize("NFKD", old or "").encode("ascii", "ignore").decode()
    return UNUSABLE.sub("-", plain).lstrip("._:-").rstrip("-")[:LONGEST_NAME] or otherwise


def readable(text: object) -> str:
    return UNSTORABLE.sub(" ", str(text)).strip()


def why(problem: Exception) -> str:
    """One of ODD in words: rules of ours say all, others speak of a value alone."""
    text = readable(problem).rstrip(".") or type(problem).__name__
    return text if isinstance(problem, JobsError | ValueError) else f"it holds a value that cannot be used: {text}"


def filled(row: Row, name: str) -> Any:
    if row[name] is None:
        raise ValueError(f"its {name} is empty")
    return row[name]


def moment(row: Row, name: str) -> datetime | None:
    """If a schedule can stand there: further out slots cannot be counted."""
    try:
        return None if row[name] is None else values.moment(row[name])
    except ValueError as problem:
        raise ValueError(f"its {name} {row[name]} cannot be used: {problem}") from None


def at_the_second(moment: datetime) -> datetime:
    """A cron knows no parts of seconds."""
    return moment - timedelta(microseconds=moment.microsecond)
