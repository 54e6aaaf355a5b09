"""Enqueue the slots of a time in the past that no run has, of one schedule or of a job type."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app import durations
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.backfill import MOST_SLOTS, NOTHING_MISSING
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import moment, positive, seconds
from jobs_app.management.exit_codes import PARTLY_DONE, WRONG_USAGE
from jobs_app.management.output import Output
from jobs_app.management.progress import Progress


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("schedule", nargs="?", type=positive, help="its id; manage.py jobs schedules tells it")
    which.add_argument("--job-type", metavar="NAME", help="all schedules of this job type")
    add("--subject", help="of the job type, only those of this subject")
    add("--from", dest="start", type=moment, required=True, metavar="TIME", help="as 2026-01-31T09:00:00Z")
    add("--to", dest="end", type=moment, required=True, metavar="TIME", help="the last moment of it, not in the future")
    add("--most", type=positive, default=MOST_SLOTS, metavar="N", help="so many jobs at most, %(default)s")
    add("--spread", type=seconds, default=0.0, metavar="TIME", help="start them over this time, as 1h; else at once")
    add("--dry-run", action="store_true", help="only tell how many there are")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    chosen = {name: options[name] for name in ("reason", "start", "end", "most", "spread", "dry_run")}
    with Progress(out, "Looking at slots") as progress:
        found = control.backfill(_schedules(options), options["actor"], **chosen, tell=progress.show)
    why = found.skipped.get(options["schedule"], NOTHING_MISSING)
    if why != NOTHING_MISSING and not found.slots:
        raise CommandError(f"schedule {options['schedule']} {why}. See manage.py jobs schedules.")
    if out.as_json:
        out.json(_data(found))
    else:
        out.line(_told(found, options["spread"]))
        for why, count in Counter(found.skipped.values()).items():
            out.note(f"{_schedules_text(count)} skipped: {why}")
    failed = sum(why != NOTHING_MISSING for why in found.skipped.values())
    if failed and not found.dry_run:
        raise CommandError(f"{_schedules_text(failed)} could get no job.", returncode=PARTLY_DONE)


def _schedules(options: dict[str, Any]) -> Any:
    if options["schedule"] is None:
        return control.schedules_of(job_type=options["job_type"], subject=options["subject"])
    if options["subject"] is not None:
        raise CommandError("--subject goes with --job-type: a schedule has its own.", returncode=WRONG_USAGE)
    return options["schedule"]


def _data(found: control.Backfilled) -> dict[str, Any]:
    return {
        "dry_run": found.dry_run,
        "schedules": found.moved,
        "slots": found.slots,
        "known": found.known,
        "made": found.made,
        "capped": found.is_capped,
        "skipped": Counter(found.skipped.values()),
    }


def _told(found: control.Backfilled, spread: float) -> str:
    made = f"{found.made} {'job' if found.made == 1 else 'jobs'} {'to make' if found.dry_run else 'made'}"
    over = f", to start over {durations.exact(spread)}" if spread and found.made else ""
    more = "; there are more, which another backfill makes" if found.is_capped else ""
    known = f"; {found.known} slots have a run already" if found.known else ""
    return f"{made} for {_schedules_text(len(found.moved))}{over}{more}{known}."


def _schedules_text(count: int) -> str:
    return f"{count} {'schedule' if count == 1 else 'schedules'}"
