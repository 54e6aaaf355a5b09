"""Schedules of django-q2, and of django-q before it, whose table has the same name."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from jobs_app.cron import parse
from jobs_app.importing import tables
from jobs_app.importing.found import (
    ODD,
    Found,
    When,
    at_the_second,
    every,
    filled,
    moment,
    once,
    readable,
    usable_name,
    why,
)
from jobs_app.importing.literals import python_arguments
from jobs_app.importing.tables import Row
from jobs_app.timetable import Timetable
from jobs_app.wall_clock import clock

SCHEDULES = "django_q_schedule"
NEEDED = ("id", "name", "func", "args", "kwargs", "schedule_type", "repeats", "next_run")
OTHERS = ("hook", "minutes", "cron", "cluster", "intended_date_kwarg")
OPTIONS = "q_options"  # among its kwargs, and for django-q2 itself
NAME_OF_A_RUN = "task_name"  # so is this
# And these, unless q_options has them too, which come first: an argument then reaches the function. There its scheduler
# always puts group, cluster and broker, so that they are no options among kwargs.
ITS_OWN = ("hook", "save", "sync", "cached", "ack_failure", "iter_count", "iter_cached", "chain", "timeout")
A_COMMON_YEAR = 2001
MONTHS_APART = {"M": 1, "BM": 2, "Q": 3, "Y": 12}
TWO_WEEKS = timedelta(weeks=2)


def read(connection: BaseDatabaseWrapper, now: datetime) -> list[Found]:
    zone = timezone.get_default_timezone_name()
    return [found(row, zone) for row in tables.read(connection, SCHEDULES, required=NEEDED, others=OTHERS)]


def found(row: Row, zone: str) -> Found:
    """What a row means, in the project's zone."""
    names: Any = {
        "old_name": readable(row["name"] or row["id"]),
        "name": usable_name(row["name"], otherwise=f"django-q2-{row['id']}"),
        "task": readable(row["func"]),
        "is_enabled": row["repeats"] != 0 and row["next_run"] is not None,
    }
    if row["schedule_type"] == "O" and not names["is_enabled"]:
        return Found(**names, problem="is for one run, and is over", is_needless=True)
    try:
        args, kwargs = python_arguments(row["args"], row["kwargs"])
        when = _when(row, zone)
        notes = tuple(_notes(row, _take_options(row, kwargs), zone))
    except ODD as problem:
        return Found(**names, problem=why(problem))
    return Found(**names, args=args, kwargs=kwargs, when=when, notes=notes, queue=row["cluster"] or "")


def _when(row: Row, zone: str) -> When:
    kind, next_run = row["schedule_type"], moment(row, "next_run")
    _require_endless(row)
    if kind == "O" and next_run is not None:
        return once(next_run)
    if kind not in READERS:
        raise ValueError(f"its schedule type {kind!r} is not known")
    timetable = READERS[kind](row, zone)
    if not row["repeats"] or next_run is None:
        return When(timetable=timetable)
    stood = at_the_second(next_run) if timetable.cron else next_run
    return When(timetable=timetable, stands_at=timetable.around(stood, stood))


def _require_endless(row: Row) -> None:
    if filled(row, "repeats") > 0 and row["schedule_type"] != "O":
        raise ValueError(
            f"it ends after {row['repeats']} more runs, and schedules here have no end. Set its repeats to -1, or add "
            "it by hand and delete it then"
        )
    if name := row["intended_date_kwarg"]:
        raise ValueError(
            f"each run gets its moment as {name}, and here all runs of a schedule have one payload. Read "
            "current_job().slot_at in the handler, and clear the intended_date_kwarg"
        )


def _minutes(row: Row, zone: str) -> Timetable:
    minutes = row["minutes"] or 1
    return every(60 * minutes, f"{minutes} minutes")


def _daily(row: Row, zone: str) -> Timetable:
    """By the clock on the wall, as django-q2 moves it when clocks change."""
    return _by_clock(_local(row, zone), zone, "* * *")


def _weekly(row: Row, zone: str) -> Timetable:
    local = _local(row, zone)
    return _by_clock(local, zone, f"* * {local.isoweekday() % 7}")


def _monthly(row: Row, zone: str) -> Timetable:
    local, apart = _local(row, zone), MONTHS_APART[row["schedule_type"]]
    months = range((local.month - 1) % apart + 1, 13, apart)
    if any(monthrange(A_COMMON_YEAR, month)[1] < local.day for month in months):
        raise ValueError(
            f"it comes on day {local.day}, which not each of its months has: django-q2 moves it to an earlier day for "
            f"good, a cron leaves the month out. Choose another day, or add it by hand as "
            f"'{local.minute} {local.hour} L * *', the last day of each month"
        )
    return _by_clock(local, zone, f"{local.day} {'*' if apart == 1 else ','.join(map(str, months))} *")


def _cron(row: Row, zone: str) -> Timetable:
    """A sixth field of django-q2 has the seconds, which stand first here."""
    fields = str(row["cron"] or "").split()
    if len(fields) > 6:
        raise ValueError(f"its cron {row['cron']!r} has a field for years, which is not known here")
    text = " ".join([*fields[5:], *fields[:5]])
    parse(text, zone)
    return Timetable(cron=text, timezone=zone)


READERS: dict[str, Callable[[Row, str], Timetable]] = {
    "I": _minutes,
    "H": lambda row, zone: Timetable(every=3600.0),
    "D": _daily,
    "W": _weekly,
    "BW": lambda row, zone: Timetable(every=TWO_WEEKS.total_seconds()),
    **dict.fromkeys(MONTHS_APART, _monthly),
    "C": _cron,
}


def _local(row: Row, zone: str) -> datetime:
    if row["next_run"] is None:
        raise ValueError("it has no next run, which alone tells its day and time")
    return row["next_run"].astimezone(clock(zone).zone)


def _by_clock(local: datetime, zone: str, days: str) -> Timetable:
    seconds = f"{local.second} " if local.second else ""
    return Timetable(cron=f"{seconds}{local.minute} {local.hour} {days}", timezone=zone)


def _take_options(row: Row, kwargs: dict[str, Any]) -> list[str]:
    """Take out of the arguments what the function never got; the names of what is lost with that."""
    options = kwargs.pop(OPTIONS, None)
    said = {*(options if isinstance(options, dict) else ()), *(["hook"] if row["hook"] else [])}
    its_own = [NAME_OF_A_RUN, *(name for name in ITS_OWN if name not in said)]
    taken = [name for name in its_own if name in kwargs]
    for name in taken:
        del kwargs[name]
    return [OPTIONS, *taken] if options else taken


def _notes(row: Row, options: Sequence[str], zone: str) -> Iterator[str]:
    if row["hook"]:
        yield f"its hook {row['hook']} is not called any more: use the signal job_finished"
    if options:
        yield f"its options for django-q2 are not kept ({', '.join(options)}): what they say is said with @job"
    if row["schedule_type"] == "BW" and _changes_clocks(zone, row["next_run"]):
        yield f"it comes every 14 days of 24 hours: when clocks of {zone} change, an hour earlier or later"


def _changes_clocks(zone: str, since: datetime | None) -> bool:
    if since is None or zone == "UTC":
        return False
    moments = (since + timedelta(days=days) for days in range(0, 366, 7))
    return len({moment.astimezone(ZoneInfo(zone)).utcoffset() for moment in moments}) > 1
