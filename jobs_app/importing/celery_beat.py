"""Periodic tasks of django-celery-beat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.cron import parse
from jobs_app.importing import tables
from jobs_app.importing.crontab import expression
from jobs_app.importing.found import ODD, Found, When, every, filled, moment, once, readable, usable_name, why
from jobs_app.importing.literals import json_arguments
from jobs_app.importing.tables import Row
from jobs_app.timetable import Timetable

TASKS = "django_celery_beat_periodictask"
NEEDED = ("id", "name", "task", "args", "kwargs", "enabled")
OTHERS = (
    *("interval_id", "crontab_id", "solar_id", "clocked_id", "queue", "exchange", "routing_key", "headers", "priority"),
    *("expires", "expire_seconds", "one_off", "start_time", "last_run_at", "total_run_count", "date_changed"),
    "description",
)
CRON_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "microseconds": 1e-6}
OF_CELERY = {"celery.backend_cleanup": "is Celery's own: the scheduler prunes what is past its retention by itself"}
UNSAID = (None, "", "{}", "null")


def read(connection: BaseDatabaseWrapper, now: datetime) -> list[Found]:
    rows = tables.read(connection, TASKS, required=NEEDED, others=OTHERS)
    prefix = "django_celery_beat_"
    whens = {
        "interval": tables.by_id(connection, f"{prefix}intervalschedule", required=("every", "period")),
        "crontab": tables.by_id(connection, f"{prefix}crontabschedule", required=CRON_FIELDS, others=("timezone",)),
        "solar": tables.by_id(connection, f"{prefix}solarschedule", required=("event",)),
        "clocked": tables.by_id(connection, f"{prefix}clockedschedule", required=("clocked_time",)),
    }
    return [found(row, {kind: by_id.get(row[f"{kind}_id"]) for kind, by_id in whens.items()}, now) for row in rows]


def found(row: Row, whens: Mapping[str, Row | None], now: datetime) -> Found:
    """What a row means, with the rows of the other tables that it refers to."""
    if row["expires"] is not None and row["expires"] <= now:
        row = {**row, "enabled": False}  # as beat does at its next look
    names: Any = {
        "old_name": readable(row["name"]),
        "name": usable_name(row["name"], otherwise=f"celery-beat-{row['id']}"),
        "task": readable(row["task"]),
        "is_enabled": bool(row["enabled"]),
        "description": readable(row["description"] or ""),
    }
    if needless := _why_needless(row):
        return Found(**names, problem=needless, is_needless=True)
    try:
        args, kwargs = json_arguments(row["args"], row["kwargs"])
        when = _when(row, {kind: one for kind, one in whens.items() if one is not None})
    except ODD as problem:
        return Found(**names, problem=why(problem))
    sent: Any = {"queue": row["queue"] or "", "priority": row["priority"], "notes": tuple(_notes(row))}
    return Found(**names, args=args, kwargs=kwargs, when=when, **sent)


def _why_needless(row: Row) -> str | None:
    is_once = row["one_off"] or row["clocked_id"] is not None
    if is_once and (row["total_run_count"] or not row["enabled"]):  # beat switches it off and forgets the count
        return "is for one run, and is over"
    return OF_CELERY.get(row["task"])


def _when(row: Row, whens: Mapping[str, Row]) -> When:
    if len(whens) != 1:
        raise ValueError("it names no schedule, or one that is gone" if not whens else "it names several schedules")
    if row["expires"] is not None and row["enabled"]:
        raise ValueError(
            f"it ends at {row['expires']:%Y-%m-%d %H:%M:%S}Z, and schedules here have no end. Clear its expires, or "
            "add it by hand and delete it then"
        )
    [(kind, one)] = whens.items()
    timetable = READERS[kind](one)
    if timetable.at is not None:
        return once(max(timetable.at, moment(row, "start_time") or timetable.at))
    if not row["enabled"]:  # a disabled one stands nowhere: beat forgets its last run
        return When(timetable=timetable)
    stands_at = _stands_at(row, timetable)
    if not row["one_off"]:
        return When(timetable=timetable, stands_at=stands_at)
    if stands_at is None:
        raise ValueError("it is for one run, and nothing tells when that is")
    return once(stands_at)


def _stands_at(row: Row, timetable: Timetable) -> datetime | None:
    """When beat would run it next. One that never ran is counted from its last change, or begins with its start."""
    last, start = moment(row, "last_run_at"), moment(row, "start_time")
    counted_from = last or moment(row, "date_changed")
    coming = None if counted_from is None else timetable.after(counted_from)
    if start is not None and (last is None or coming is None or coming < start):
        return timetable.around(start, start)
    return coming


def _interval(row: Row) -> Timetable:
    number, period = filled(row, "every"), row["period"]
    if period not in SECONDS:
        raise ValueError(f"it comes every {number} {period}, which is no known length of time")
    return every(number * SECONDS[period], f"{number} {period}")


def _crontab(row: Row) -> Timetable:
    zone = str(row["timezone"] or getattr(settings, "CELERY_TIMEZONE", None) or "UTC")
    text = expression(**{name: row[name] for name in CRON_FIELDS})
    parse(text, zone)
    return Timetable(cron=text, timezone=zone)


def _solar(row: Row) -> Timetable:
    raise ValueError(
        f"it follows the sun ({row['event']}), and schedules here follow clocks. Use a cron near that time, "
        "or one that looks every few minutes"
    )


def _clocked(row: Row) -> Timetable:
    filled(row, "clocked_time")
    return Timetable(at=moment(row, "clocked_time"))


READERS: dict[str, Callable[[Row], Timetable]] = {
    "interval": _interval,
    "crontab": _crontab,
    "solar": _solar,
    "clocked": _clocked,
}


def _notes(row: Row) -> Iterator[str]:
    """What Celery sent with a message and jobs have no place for."""
    for name in ("exchange", "routing_key", "headers"):
        if row[name] not in UNSAID:
            yield f"what {name} says is not kept"
    if row["expire_seconds"]:
        yield f"a run that waits longer than {row['expire_seconds']} s is not dropped any more"
    if row["expires"] is not None:
        yield "its expires is not kept: resume it only if it may go on for good"
