"""Which runs: the filter of the pages of runs, as options of the command line."""

from __future__ import annotations

import shlex
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import DEFAULT_WINDOW, STATES
from jobs_app.management.arguments import since
from jobs_app.management.exit_codes import WRONG_USAGE
from jobs_app.management.processes import worker_id_of

# Option -> name in the filter.
OPTIONS = {
    "--state": "state",
    "--job-type": "job_type",
    "--queue": "queue",
    "--subject": "subject",
    "--worker": "worker",
    "--error": "error",
    "--since": "since",
    "--until": "until",
    "--parent": "parent",
    "--schedule": "schedule",
    "--query": "q",
}


def add_filter_arguments(parser: CommandParser) -> None:
    add = parser.add_argument_group("which runs").add_argument
    add("--state", choices=list(STATES), help="waiting is all that waits, live runs too, finished all that has ended")
    add("--job-type", dest="job_type", metavar="NAME", help="of this job type")
    add("--queue", metavar="NAME", help="of this queue")
    add("--subject", help="about this subject")
    add("--worker", metavar="ID", help="of this worker, as drain names it")
    add("--error", metavar="CLASS", help="whose last attempt ended with it, as TimeoutError")
    told = "queued at this time or later, as 2h or 2026-01-31T09:00:00Z; else of the last 24 hours, or live"
    add("--since", type=since, metavar="TIME", help=told)
    add("--until", type=since, metavar="TIME", help="queued before this time, likewise")
    add("--parent", metavar="ID", help="that repeat this run")
    add("--schedule", metavar="ID", help="of this schedule")
    add("--query", dest="q", metavar="TEXT", help="as in the search of the admin: text, payload.path:value, an id")


def filter_of(options: dict[str, Any], now: datetime) -> RunFilter:
    given = {name: options[name] for name in OPTIONS.values() if options[name] is not None}
    if empty := [option for option, name in OPTIONS.items() if given.get(name) == ""]:  # a variable that is not set?
        told = f"{empty[0]} is empty, and would mean all of them: give it a value, or leave it out."
        raise CommandError(told, returncode=WRONG_USAGE)
    if "worker" in given:
        given["worker"] = worker_id_of(given["worker"])
    return RunFilter.from_query(given | {name: now - ago for name, ago in given.items() if isinstance(ago, timedelta)})


def is_filtered(options: dict[str, Any]) -> bool:
    return any(options[name] is not None for name in OPTIONS.values())


def as_options(chosen: RunFilter) -> str:
    """As somebody would type it, its times as moments."""
    query = chosen.as_query()
    return " ".join(f"{option} {shlex.quote(query[name])}" for option, name in OPTIONS.items() if name in query)


def is_of_last_day(chosen: RunFilter) -> bool:
    """Nobody said when, and it is not about any time."""
    return not (chosen.since or chosen.until) and chosen.default_window == DEFAULT_WINDOW
