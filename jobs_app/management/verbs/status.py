"""What waits, what runs, who works, and how the last day went."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app import durations
from jobs_app.insights import counts, knowing, overdue, pauses, processes, windows
from jobs_app.insights.counts import EndedCounts, LiveCounts
from jobs_app.insights.documents import process_data, queue_data, waited_seconds
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.arguments import period
from jobs_app.management.exit_codes import CHECK_FAILED
from jobs_app.management.findings import bad_among, finding_data, finding_lines, judged, level_of
from jobs_app.management.output import Output
from jobs_app.management.pauses import pause_text, pauses_data
from jobs_app.management.processes import HEADERS, is_any_working, process_row
from jobs_app.management.windows import open_data, open_text
from jobs_app.models import Pause, WorkerState

MOST_OVERDUE = 10  # lines
CHECK_SECONDS = 10.0  # for each part of what a check reads


def add_arguments(parser: CommandParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--watch", type=period, metavar="TIME", help="print it anew after so long, until interrupted")
    told = f"only say whether all is well, as the dashboard does; end with {CHECK_FAILED} if something is bad"
    how.add_argument("--check", action="store_true", help=told)


def handle(options: dict[str, Any], out: Output) -> None:
    if options["check"]:
        _check(out)
        return
    _print(out)
    while options["watch"] is not None:
        out.flush()
        time.sleep(options["watch"])
        if not out.as_json:
            out.line()
        _print(out)


def _check(out: Output) -> None:
    connection = jobs_connection()
    now = database_now(connection)
    known = knowing.read_all(connection, pauses.newest(connection, now), seconds=CHECK_SECONDS)
    found = judged(known)
    if out.as_json:
        out.json({"at": now, "level": level_of(found), "findings": [finding_data(each) for each in found]})
    else:
        for line in finding_lines(found):
            out.line(line)
    if count := len(bad_among(found)):
        raise CommandError(f"{count} {'problem' if count == 1 else 'problems'} found", returncode=CHECK_FAILED)


def _print(out: Output) -> None:
    connection = jobs_connection()
    live, ended, found = counts.live(connection), counts.ended(connection), processes.newest(connection)
    paused, late = pauses.newest(connection, live.at), overdue.overdue(connection)
    opened = windows.open_now(connection, live.at)
    if out.as_json:
        out.json(_data(live, ended, found, paused, late) | {"windows": open_data(opened)})
        return
    for each in paused:
        out.line(pause_text(each))
    for window in opened:
        out.line(open_text(window))
    for job, seconds in late[:MOST_OVERDUE]:
        out.line(f"Overdue since {durations.rough(seconds)}: {job.job_type} {job.pk} on {job.worker_id}")
    _print_queues(live, out)
    out.line()
    _print_ended(ended, out)
    if found:
        out.line()
        out.table(HEADERS, [process_row(each, live.at) for each in found])
    if not is_any_working(found, live.at):
        out.note("No worker is alive: jobs wait until one is started with manage.py runworker.")


def _data(
    live: LiveCounts, ended: EndedCounts, found: list[WorkerState], paused: list[Pause], late: list[overdue.Overdue]
) -> dict[str, Any]:
    return {
        "at": live.at,
        "overdue": [{"id": job.pk, "job_type": job.job_type, "seconds": seconds} for job, seconds in late],
        "pauses": pauses_data(paused),
        "queues": [queue_data(each, live.at) for each in live.queues],
        "queues_capped": live.is_capped,
        "last_24_hours": ended.states,
        "last_24_hours_capped": ended.is_capped,
        "processes": [process_data(each, live.at) for each in found],
    }


def _print_queues(live: LiveCounts, out: Output) -> None:
    rows = []
    for each in live.queues:
        wait = waited_seconds(each, live.at)
        oldest = None if wait is None else durations.rough(wait)
        rows.append((each.queue, each.queued, each.scheduled, each.retrying, each.held, each.running, oldest))
    out.table(("QUEUE", "QUEUED", "SCHEDULED", "RETRYING", "HELD", "RUNNING", "OLDEST WAIT"), rows)
    if live.is_capped:
        out.line(f"More than {counts.MOST_WAITING} jobs wait: queued, scheduled and retrying are at least these.")


def _print_ended(ended: EndedCounts, out: Output) -> None:
    told = ", ".join(f"{count} {state}" for state, count in ended.states.items())
    out.line(f"Last 24 hours: {'more than ' if ended.is_capped else ''}{told}")
