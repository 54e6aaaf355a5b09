"""Runs, live and finished, newest first: those that the options choose, a page at a time."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights import run_list
from jobs_app.insights.run_documents import run_summary
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_keys import MOST_ROWS
from jobs_app.insights.run_list import RunPage
from jobs_app.insights.run_order import Key
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.arguments import positive
from jobs_app.management.exit_codes import NOTHING_MATCHED, WRONG_USAGE
from jobs_app.management.output import Output, shown
from jobs_app.management.run_filters import add_filter_arguments, as_options, filter_of, is_of_last_day
from jobs_app.management.runs import run_table
from jobs_app.options import did_you_mean
from jobs_app.registry import registry

MOST = 1000  # of one page


def add_arguments(parser: CommandParser) -> None:
    add_filter_arguments(parser)
    add = parser.add_argument
    add("--limit", type=positive, default=run_list.PAGE_SIZE, metavar="N", help="so many at most, %(default)s")
    add("--after", metavar="PLACE", help="the next page, from the place that the last one told")
    add("--fail-if-empty", action="store_true", help="exit code 3 if there is none")


def handle(options: dict[str, Any], out: Output) -> None:
    if options["limit"] > MOST:
        raise CommandError(f"--limit: use at most {MOST}, and --after for the next page.", returncode=WRONG_USAGE)
    connection = jobs_connection()
    chosen = filter_of(options, database_now(connection))
    found = run_list.page(connection, chosen, older=_place(options["after"]), size=options["limit"])
    if out.as_json:
        runs: list[Any] = found.runs
        told = [run_summary(run) | {"error_class": run.error_class} for run in runs]
        out.json({"runs": told, "after": found.older and str(found.older), "searched_to": found.searched_to})
    else:
        out.table(*run_table(found.runs))
        _tell_more(chosen, found, options, out)
    if options["fail_if_empty"] and not found.runs:
        raise CommandError("no run is as asked for.", returncode=NOTHING_MATCHED)


def _place(text: str | None) -> Key | None:
    try:
        return Key.read(text) if text else None
    except ValueError as problem:
        raise CommandError(f"--after: {problem}.", returncode=WRONG_USAGE) from None


def _tell_more(chosen: RunFilter, found: RunPage, options: dict[str, Any], out: Output) -> None:
    if chosen.job_type and chosen.job_type not in registry:
        out.note(f"Code knows no job type {chosen.job_type!r}.{did_you_mean(chosen.job_type, registry.names())}")
    if found.is_cut:
        out.note(f"More than {MOST_ROWS} are live: the list may lack some of these.")
    if found.searched_to is not None:
        out.note(f"What was queued before {shown(found.searched_to)} was not looked at yet.")
    if found.older is not None:
        said = " ".join(part for part in (as_options(chosen), f"--limit {options['limit']}") if part)
        out.note(f"The next page: manage.py jobs list {said} --after {found.older}")
    elif not found.runs and is_of_last_day(chosen):
        out.note("None in the last 24 hours: --since 7d looks further back.")
