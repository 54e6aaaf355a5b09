"""What waits, what runs, who works, and how the last day went."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from jobs_app import durations
from jobs_app.insights import counts, overdue, pauses, processes, windows
from jobs_app.insights.counts import EndedCounts, LiveCounts
from jobs_app.insights.documents import process_data, queue_data, waited_seconds
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.output import Output
from jobs_app.management.pauses import pause_text, pauses_data
from jobs_app.management.windows import open_data, open_text
from jobs_app.models import Pause, WorkerKind, WorkerState

MOST_OVERDUE = 10  # lines


def add_arguments(parser: CommandParser) -> None: ...


def handle(options: dict[str, Any], out: Output) -> None:
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
        _print_processes(found, live.at, out)
    if not _are_working(found, live.at):
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


def _print_processes(found: list[WorkerState], now: datetime, out: Output) -> None:
    rows = [
        (
            each.kind,
            each.name or f"{each.host} {each.pid}",
            processes.status_of(each, now=now),
            f"{each.busy}/{each.concurrency}" if each.concurrency else None,
            f"{durations.rough((now - each.seen_at).total_seconds())} ago",
            _serves(each),
        )
        for each in found
    ]
    out.table(("KIND", "NAME", "STATUS", "BUSY", "SEEN", "QUEUES"), rows)


def _serves(each: WorkerState) -> str:
    if each.kind == WorkerKind.SCHEDULER:
        return ""
    return (", ".join(each.queues) or "all") + "".join(f" but {name}" for name in each.excluded)


def _are_working(found: list[WorkerState], now: datetime) -> bool:
    return any(
        each.kind != WorkerKind.SCHEDULER and processes.status_of(each, now=now) == processes.ALIVE for each in found
    )
