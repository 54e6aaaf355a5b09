"""Delete the history that is past its retention, now and in this process."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.lifecycle import control
from jobs_app.lifecycle.prune import Pruned
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import period
from jobs_app.management.exit_codes import INTERRUPTED
from jobs_app.management.output import Output
from jobs_app.management.progress import Progress

TABLES = ("runs", "attempts", "items", "events", "samples")
BREATH_SECONDS = 0.05  # between two batches, so that others get at the database


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only count")
    add("--max-time", type=period, metavar="TIME", help="stop after so long, as 10m; the next one goes on")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    pruned = _prune(options, out)
    if out.as_json:
        counts = {name: getattr(pruned, name) for name in TABLES}
        told = {"dry_run": options["dry_run"], **counts, "complete": pruned.complete, "elsewhere": pruned.elsewhere}
        out.json(told)
        return
    out.table(("WHAT", "ROWS"), [(name, getattr(pruned, name)) for name in TABLES])
    if options["dry_run"]:
        out.note("Nothing was deleted: leave --dry-run out to do it.")
    if pruned.elsewhere:
        out.note("Another process prunes at this moment: it does the rest.")
    elif not pruned.complete:
        out.note("The time is over and there is more: the next one goes on.")


def _prune(options: dict[str, Any], out: Output) -> Pruned:
    until = None if options["max_time"] is None else time.monotonic() + options["max_time"]

    def go_on() -> bool:
        time.sleep(BREATH_SECONDS)
        return until is None or time.monotonic() < until

    with Progress(out, "Counting" if options["dry_run"] else "Pruning") as progress:
        try:
            return control.prune_history(
                options["actor"],
                options["reason"],
                dry_run=options["dry_run"],
                go_on=go_on,
                tell=lambda counts: progress.show(sum(counts.values())),
            )
        except KeyboardInterrupt:
            gone = 0 if options["dry_run"] else progress.done
            raise CommandError(f"interrupted: {gone} rows were deleted.", returncode=INTERRUPTED) from None
