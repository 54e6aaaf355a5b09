"""What comes back by itself: when, when next, how the last run ended, and what keeps it from coming."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights import schedules
from jobs_app.insights.documents import schedule_data
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.schedule_filter import TROUBLES, ScheduleFilter
from jobs_app.management.arguments import positive
from jobs_app.management.exit_codes import NOTHING_MATCHED
from jobs_app.management.output import Output
from jobs_app.models import JobRun, Origin, ScheduleState
from jobs_app.text import clean

HEADERS = ("ID", "JOB TYPE", "SUBJECT", "NAME", "WHEN", "NEXT", "LAST", "ENDED", "STATE", "WHY")
WHY_LENGTH = 60


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--job-type", metavar="NAME", help="only those of this job type")
    add("--subject", help="only those of this subject")
    add("--state", choices=sorted(schedules.STATES), help="only those that are so")
    add("--trouble", choices=TROUBLES, help="only those with it")
    add("--origin", choices=Origin.values, help="only those that come from there")
    add("--search", default="", metavar="TEXT", help="only those with it in job type, subject or name")
    add("--limit", type=positive, default=schedules.MOST_SHOWN, help="so many at most, %(default)s")
    add("--fail-if-empty", action="store_true", help=f"end with {NOTHING_MATCHED} where there is none")


def handle(options: dict[str, Any], out: Output) -> None:
    connection, limit = jobs_connection(), options["limit"]
    wanted = ScheduleFilter(**{each.name: options[each.name] for each in fields(ScheduleFilter)})
    found = schedules.find(connection, wanted, limit=limit + 1)
    is_capped, rows = len(found) > limit, found[:limit]
    runs = schedules.last_runs(connection, rows)
    if out.as_json:
        out.json({"schedules": [schedule_data(row, runs.get(row.pk)) for row in rows], "capped": is_capped})
    else:
        out.table(HEADERS, [_line(row, runs.get(row.pk)) for row in rows])
    if is_capped:
        out.note(f"There are more than {limit}: name a --job-type, a --subject or a --state, or raise --limit.")
    if not rows and options["fail_if_empty"]:
        raise CommandError("no schedule was found", returncode=NOTHING_MATCHED)


def _line(row: ScheduleState, run: JobRun | None) -> tuple[object, ...]:
    state, why = schedules.state_of(row), clean(schedules.why(row), WHY_LENGTH)
    coming = row.next_run_at if state == schedules.ACTIVE else None
    ended = run and run.state
    names = (row.pk, row.job_type, row.subject, row.name, str(row.timetable))
    return (*names, coming, row.last_run_at, ended, state, why)
