"""Job types that operators plan, and what they do with them in one line each. It is noon."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.models import ScheduleState
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from tests.lifecycle.rows import T, at

HOUR = 3600
NINE = T.replace(hour=9) + timedelta(days=1)
BAD_WHENS = [
    ({"cron": "every day"}, "cron='every day' in UTC cannot be used"),
    ({"cron": "0 9 * * *", "timezone": "Europe/Atlantis"}, "Atlantis"),
    ({"timezone": "Europe/Berlin", "every": 60}, "timezone= is about cron="),
    ({"at": T}, "has passed. Give a later moment"),
    ({"at": T.replace(tzinfo=None)}, "has no time zone"),
    ({"at": "tomorrow"}, "use a datetime"),
    ({"every": 60, "cron": "0 9 * * *"}, "every= and cron= each say when; give one of them"),
    ({"every": 60, "per_hour": 4, "at": T}, "each say when"),
    ({"every": 0}, "every=0 cannot be used: use a time above 0"),
    ({"every": 1e-9}, "use 0.001 seconds at least"),
    ({"per_hour": 0}, "use a number from"),
]


def define_types() -> None:
    """`rates` comes back every hour, as code says, and just did; the others do not by themselves."""

    @job(name="rates", every="1h", spread=60)
    def rates(n: int = 0) -> None: ...

    @job(name="report")
    def report(n: int = 0, day: date | None = None, token: str = "") -> None: ...

    @job(name="books", permission="jobs_app.add_job")
    def books() -> None: ...

    with at(0):
        sync_declared(connection)
        tick(connection)


def row(job_type: str = "report", **names: str) -> ScheduleState:
    return ScheduleState.objects.get(job_type=job_type, **names)


def made_at(seconds: float, job_type: str = "report") -> list[datetime]:
    """The slots that a tick takes then."""
    with at(seconds):
        return [made.slot for made in tick(connection, job_types=[job_type]).made]


def add(**options: Any) -> control.Acted:
    with at(0):
        return control.add_schedule("report", "ann", "they asked", **options)


def change(job_type: str = "rates", seconds: float = 60, **options: Any) -> control.Acted:
    with at(seconds):
        return control.change_schedule(row(job_type), "ann", "they asked", **options)
