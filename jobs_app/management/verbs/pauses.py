"""What is paused, by whom, why and until when."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobs_app.insights import pauses
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.arguments import positive
from jobs_app.management.output import Output
from jobs_app.management.pauses import NAMES, pauses_data

LIMIT = 100


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--limit", type=positive, default=LIMIT, metavar="N", help="so many at most, %(default)s")


def handle(options: dict[str, Any], out: Output) -> None:
    connection, limit = jobs_connection(), options["limit"]
    found = pauses.newest(connection, database_now(connection), limit=limit + 1)
    is_capped, shown = len(found) > limit, pauses_data(found[:limit])
    if out.as_json:
        out.json({"pauses": shown, "capped": is_capped})
        return
    out.table([name.replace("_", " ").upper() for name in NAMES], [list(each.values()) for each in shown])
    if is_capped:
        out.note(f"There are more than {limit}: raise --limit.")
    out.note("Schedules that are paused: manage.py jobs schedules --state paused")
