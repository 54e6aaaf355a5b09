"""What comes back by itself: when, when next, how the last run ended, and what keeps it from coming."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobs_app.insights import schedules
from jobs_app.insights.documents import schedule_data
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.arguments import positive
from jobs_app.management.output import Output
from jobs_app.models import JobRun, ScheduleState
from jobs_app.text import clean

HEADERS = ("ID", "JOB TYPE", "SUBJECT", "NAME", "WHEN", "NEXT", "LAST", "ENDED", "STATE", "WHY")
WHY_LENGTH = 60


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--job-type", metavar="NAME", help="only those of this job type")
    add("--subject", help="only those of this subject")
    add("--state", choices=sorted(schedules.STATES), help="only those that are so")
    add("--limit", type=positive, default=schedules.MOST_SHOWN, help="so many at most, %(default)s")


def handle(options: dict[str, Any], out: Output) -> None:
    connection, limit = jobs_connection(), options["limit"]
    wanted = {name: options[name] for name in ("job_type", "subject", "state")}
    found = schedules.find(connection, **wanted, limit=limit + 1)
    is_capped, rows = len(found) > limit, found[:limit]
    runs = schedules.last_runs(connection, rows)
    if out.as_json:
        out.json({"schedules": [schedule_data(row, runs.get(row.pk)) for row in rows], "capped": is_capped})
        return
    out.table(HEADERS, [_line(row, runs.get(row.pk)) for row in rows])
    if is_capped:
        out.note(f"There are more than {limit}: name a --job-type, a --subject or a --state, or raise --limit.")


def _line(row: ScheduleState, run: JobRun | None) -> tuple[object, ...]:
    state, why = schedules.state_of(row), clean(schedules.why(row), WHY_LENGTH)
    coming = row.next_run_at if state == schedules.ACTIVE else None
    ended = run and run.state
    names = (row.pk, row.job_type, row.subject, row.name, str(row.timetable))
    return (*names, coming, row.last_run_at, ended, state, why)
