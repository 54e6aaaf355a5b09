"""Let nothing of it start, until somebody resumes it or its time is over. What runs goes on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.counters import known_queues
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import moment, period
from jobs_app.management.exit_codes import WRONG_USAGE
from jobs_app.management.output import Output, shown
from jobs_app.management.pause_acts import SCHEDULE, SCOPES, add_target_arguments, schedule_id, target_of, tell
from jobs_app.options import did_you_mean


def add_arguments(parser: CommandParser) -> None:
    add_target_arguments(parser)
    end = parser.add_mutually_exclusive_group().add_argument
    end("--until", type=moment, metavar="TIME", help="resume it then, as 2026-01-31T09:00:00Z")
    end("--for", dest="length", type=period, metavar="TIME", help="resume it after so long, as 2h")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    what, name = target_of(options)
    until = _until(options)
    if what == SCHEDULE:
        if until is not None:
            told = "a schedule is paused until somebody resumes it: leave --until and --for out."
            raise CommandError(told, returncode=WRONG_USAGE)
        acted = control.pause_schedule(schedule_id(name), options["actor"], options["reason"])
    else:
        acted = control.pause(SCOPES[what], name, options["actor"], options["reason"], until)
    tell(acted, f"is paused{f' until {shown(until)}' if until else ''}", "parked", out)
    if what == "queue" and name not in known_queues():
        out.note(f"No job type and no setting names a queue {name!r}.{did_you_mean(name, known_queues())}")


def _until(options: dict[str, Any]) -> datetime | None:
    if options["length"] is None:
        return options["until"]
    return database_now(jobs_connection()) + timedelta(seconds=options["length"])
