"""A run, its attempts and what it waits for as JSON data under stable names, with secrets hidden: for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs_app.insights.runs import label_of, reached, status_of
from jobs_app.insights.waiting import Reason
from jobs_app.lifecycle.overdue import overdue_seconds
from jobs_app.models import JobAttempt
from jobs_app.redaction import redact

AS_STORED = (
    "queue",
    "priority",
    "subject",
    "key",
    "actor",
    "parent",
    "schedule",
    "slot_at",
    "attempts",
    "free_attempts",
    "max_attempts",
    "queued_at",
    "run_at",
    "expires_at",
    "first_started_at",
    "started_at",
    "finished_at",
    "worker_id",
    "hold",
    "cancel_requested",
    "outcome",
    "done_reason",
    "error",
)


def run_summary(run: Any) -> dict[str, Any]:
    """A run as a list has it, without what may be large."""
    status = status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)
    return {
        "id": run.pk,
        "job_type": run.job_type,
        "status": status,
        "label": label_of(run.job_type, status),
        **{name: getattr(run, name) for name in AS_STORED},
        "overdue_seconds": overdue_seconds(run, run.read_at),
        "progress": _progress(run),
    }


def run_data(run: Any) -> dict[str, Any]:
    """A run as `insights.runs.get` gives it."""
    return {
        **run_summary(run),
        "payload": redact(run.payload),
        "meta": redact(run.meta),
        "result": redact(run.result),
    }


def waiting_data(reasons: Iterable[Reason]) -> list[dict[str, Any]]:
    """Why it waits, the most decisive first; `about` leads to what it waits for."""
    return [
        {
            "kind": reason.kind,
            "sentence": reason.sentence,
            "until": reason.until,
            "about": reason.target and {"kind": reason.target.kind, "name": reason.target.name},
        }
        for reason in reasons
    ]


def attempt_data(attempt: JobAttempt, *, with_log: bool) -> dict[str, Any]:
    names = ["number", "outcome", "success", "worker_id", "started_at", "finished_at", "error_class", "message"]
    names += ["traceback", "log_excerpt"] if with_log else []
    return {name: getattr(attempt, name) for name in names}


def _progress(run: Any) -> dict[str, Any]:
    if run.last_progress_at is None:
        return {}
    return {
        "count": reached(run),
        "total": run.target_count,
        "message": run.progress_message,
        "cursor": run.cursor,
        "at": run.last_progress_at,
    }
