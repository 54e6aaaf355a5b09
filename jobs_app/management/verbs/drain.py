"""Ask workers to take no more jobs, to bring those that they have to their end, and then to end themselves."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights import processes
from jobs_app.insights.draining import still_there
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.drain import ALL, ASKED_BEFORE, NO_WORKER
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import period
from jobs_app.management.exit_codes import WAIT_TIMED_OUT, WRONG_USAGE
from jobs_app.management.output import Output
from jobs_app.management.processes import is_meant
from jobs_app.management.progress import Progress

WAIT_SECONDS = 900.0
LOOK_SECONDS = 1.0


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("workers", nargs="*", metavar="WORKER", help="its id or how that begins, or its name; all that are so")
    add("--all", action="store_true", help="all that are there now; none that comes later")
    add("--wait", action="store_true", help="until none of them is there, or has a job in its hands")
    add("--timeout", type=period, default=WAIT_SECONDS, metavar="TIME", help="of --wait, 15m; then exit code 5")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    if bool(options["workers"]) == options["all"]:
        raise CommandError("which workers? Name some, or say --all.", returncode=WRONG_USAGE)
    wanted = ALL if options["all"] else _ids(options["workers"])
    acted = control.drain(wanted, options["actor"], options["reason"])
    before = [worker for worker, why in acted.skipped.items() if why == ASKED_BEFORE]
    asked = [*acted.moved, *before]
    left = _wait(asked, options["timeout"], out) if options["wait"] else still_there(jobs_connection(), asked)
    _tell(acted.moved, before, left, out)
    if options["wait"] and left:
        told = f"{len(left)} of {len(asked)} are still there, with {sum(left.values())} jobs; they go on to drain."
        raise CommandError(told, returncode=WAIT_TIMED_OUT)


def _ids(words: list[str]) -> list[str]:
    connection = jobs_connection()
    found = processes.all_of(connection, database_now(connection)).found
    ids: list[str] = []
    for word in words:
        meant = [each for each in found if word and is_meant(each.row, word)]
        if not meant:
            raise CommandError(f"no worker has the id or the name {word!r}. See manage.py jobs workers.")
        if not any(each.is_worker for each in meant):
            raise CommandError(f"{word} {NO_WORKER}.")
        ids += sorted(each.row.pk for each in meant if each.is_worker)
    return ids


def _wait(workers: list[str], timeout: float, out: Output) -> dict[str, int]:
    """Until they are gone, or the time is over: those that are left."""
    deadline = time.monotonic() + timeout
    with Progress(out, "Draining", len(workers)) as progress:
        while (left := still_there(jobs_connection(), workers)) and time.monotonic() < deadline:
            progress.show(len(workers) - len(left))
            time.sleep(LOOK_SECONDS)
    return left


def _tell(asked: list[str], before: list[str], left: dict[str, int], out: Output) -> None:
    if out.as_json:
        out.json({"asked": asked, "asked_before": before, "left": left})
        return
    rows = [(worker, "asked" if worker in asked else ASKED_BEFORE) for worker in [*asked, *before]]
    if not rows:
        out.note("No worker is there.")
        return
    out.table(("WORKER", "NOW", "JOBS"), [(*row, left.get(row[0], "gone")) for row in rows])
