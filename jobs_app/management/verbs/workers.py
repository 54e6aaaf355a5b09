"""Every worker and scheduler: whether it is alive, what it serves, and what it runs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights import processes
from jobs_app.insights.processes import ALIVE, Processes
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.exit_codes import NOTHING_MATCHED
from jobs_app.management.output import Output
from jobs_app.management.processes import DETAIL_HEADERS, detail_data, detail_row
from jobs_app.models import WorkerKind

KINDS = {"": "worker", "remote": "remote worker"}  # where the word is another


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--kind", choices=WorkerKind.values, default="", help="only these")
    told = f"end with {NOTHING_MATCHED} where no worker is alive, or none of --kind"
    parser.add_argument("--fail-if-empty", action="store_true", help=told)


def handle(options: dict[str, Any], out: Output) -> None:
    connection, kind = jobs_connection(), options["kind"]
    found = processes.at_work(connection, database_now(connection), kind=kind)
    is_capped = len(found.found) == processes.MOST_SHOWN
    if out.as_json:
        told = [detail_data(each, found.at) for each in found.found]
        out.json({"at": found.at, "processes": told, "capped": is_capped})
    else:
        out.table(DETAIL_HEADERS, [detail_row(each, found.at) for each in found.found])
    if is_capped:
        out.note(f"These are the {processes.MOST_SHOWN} that were seen last; there may be more.")
    if not _is_any_alive(found, kind):
        _tell_none(kind, fail=options["fail_if_empty"], out=out)


def _is_any_alive(found: Processes, kind: str) -> bool:
    """Of the kind that was asked for; a scheduler alone works nothing off."""
    return any(each.status == ALIVE for each in (found.found if kind else found.workers))


def _tell_none(kind: str, *, fail: bool, out: Output) -> None:
    text = f"No {KINDS.get(kind, kind)} is alive."
    if fail:
        raise CommandError(text, returncode=NOTHING_MATCHED)
    out.note(text)
