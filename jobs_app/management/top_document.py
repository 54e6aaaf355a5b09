"""What `jobs top` tells programs: one document for each time it reads."""

from __future__ import annotations

from typing import Any

from jobs_app.insights.documents import process_data, queue_data
from jobs_app.insights.live_view import LiveView
from jobs_app.insights.queues import QueueLine
from jobs_app.management.findings import finding_data, judged, level_of
from jobs_app.management.processes import running_data
from jobs_app.models import Run

OF_FAILED = ("id", "job_type", "queue", "subject", "attempts", "finished_at", "error_class", "error")


def document(view: LiveView) -> dict[str, Any]:
    now, found = view.known.now, judged(view.known)
    return {
        "at": now and now.at,
        "problem": None,
        "complete": view.is_all,
        "level": level_of(found),
        "findings": [finding_data(each) for each in found],
        "totals": _totals(view),
        "queues": [_queue_data(each) for each in view.queues],
        "processes": [process_data(each.row, now.at) for each in now.processes.found] if now else [],
        "running": [running_data(each, now.at) for each in view.running or ()] if now else [],
        "failed": [_failed_data(each) for each in view.failed or ()],
    }


def _totals(view: LiveView) -> dict[str, Any]:
    now, ended = view.known.now, view.ended
    return {
        "waiting": now and now.waiting,
        "waiting_capped": now and now.is_capped,
        "running": now and now.running,
        "retrying": view.retrying if now else None,
        "failed_last_hour": ended and ended.states["failed"],
        "failed_last_hour_capped": ended and ended.is_capped,
        "per_minute_in": view.per_minute_in,
        "per_minute_out": view.per_minute_out,
    }


def _queue_data(each: QueueLine) -> dict[str, Any]:
    rates = {"per_minute_in": each.hour.per_minute_in, "per_minute_out": each.hour.per_minute_out}
    return {**queue_data(each.counts, each.at), "state": each.state, **rates}


def _failed_data(each: Run) -> dict[str, Any]:
    return {name: getattr(each, name) for name in OF_FAILED}
