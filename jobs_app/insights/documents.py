"""Queues, processes and schedules as JSON data under stable names, with secrets hidden: for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs_app.insights import processes, schedules
from jobs_app.insights.counts import QueueCounts
from jobs_app.models import JobRun, ScheduleState, WorkerState
from jobs_app.redaction import redact

OF_SCHEDULES = (
    "id",
    "job_type",
    "subject",
    "name",
    "origin",
    "interval_seconds",
    "cron",
    "timezone",
    "once_at",
    "next_run_at",
    "last_run_at",
    "last_slot",
    "catch_up",
    "overlap",
    "failures",
    "skipped_slots",
)


def queue_data(each: QueueCounts, now: datetime) -> dict[str, Any]:
    return {
        "queue": each.queue,
        "queued": each.queued,
        "scheduled": each.scheduled,
        "retrying": each.retrying,
        "held": each.held,
        "running": each.running,
        "oldest_wait_seconds": waited_seconds(each, now),
    }


def process_data(each: WorkerState, now: datetime) -> dict[str, Any]:
    names = ["id", "kind", "name", "host", "pid", "version", "queues", "excluded", "busy", "concurrency", "rss_bytes"]
    data = {name: getattr(each, name) for name in [*names, "started_at", "seen_at"]}
    return {**data, "status": processes.status_of(each, now=now)}


def schedule_data(row: ScheduleState, run: JobRun | None) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in OF_SCHEDULES},
        "when": str(row.timetable),
        "state": schedules.state_of(row),
        "why": schedules.why(row),
        "next_slots": schedules.next_slots(row),
        "last_finished_at": run and run.finished_at,
        "last_status": run and run.state,
        "overridden": sorted(row.overrides),
        "payload": redact(row.payload),
    }


def waited_seconds(each: QueueCounts, now: datetime) -> float | None:
    """Of the job that is due for longest; None where none is."""
    return None if each.oldest_due_at is None else round((now - each.oldest_due_at).total_seconds(), 3)
