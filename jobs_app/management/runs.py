"""A run and its attempts as the command line tells them, with secrets hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobs_app import durations
from jobs_app.insights.runs import label_of, status_of
from jobs_app.insights.waiting import Reason
from jobs_app.lifecycle.overdue import overdue_seconds
from jobs_app.models import JobAttempt
from jobs_app.redaction import redact
from jobs_app.text import clean

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
MESSAGE_LENGTH = 60


def run_data(run: Any) -> dict[str, Any]:
    """A run as `insights.runs.get` gives it, under stable names."""
    status = status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)
    return {
        "id": run.pk,
        "job_type": run.job_type,
        "status": status,
        "label": label_of(run.job_type, status),
        **{name: getattr(run, name) for name in AS_STORED},
        "overdue_seconds": overdue_seconds(run, run.read_at),
        "progress": _progress(run),
        "payload": redact(run.payload),
        "meta": redact(run.meta),
        "result": redact(run.result),
    }


def run_fields(data: dict[str, Any]) -> dict[str, object]:
    """The same for people: what is empty or usual is left out."""
    label = f" ({data['label']})" if data["label"] != data["status"] else ""
    told = {name: data[name] for name in ("id", "job_type")} | {"status": data["status"] + label}
    told |= {name: data[name] for name in AS_STORED if name not in _TOLD_OTHERWISE and data[name]}
    if data["key"] == data["subject"]:
        told.pop("key", None)  # the usual case
    if data["overdue_seconds"] is not None:
        told["status"] += f", overdue since {durations.rough(data['overdue_seconds'])}"
    told["attempts"] = f"{data['attempts']} of {data['max_attempts']}{_free(data['free_attempts'])}"
    if data["first_started_at"]:
        told["waited"] = durations.rough((data["first_started_at"] - data["queued_at"]).total_seconds())
    if data["started_at"] and data["finished_at"]:
        told["ran for"] = durations.rough((data["finished_at"] - data["started_at"]).total_seconds())
    told |= {name: data[name] for name in ("payload", "meta", "progress", "result") if data[name] not in (None, {})}
    return told


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


def attempt_rows(attempts: Sequence[JobAttempt]) -> list[tuple[object, ...]]:
    """Number, outcome, start, length, and what went wrong, cut."""
    return [
        (
            attempt.number,
            attempt.outcome,
            attempt.started_at,
            durations.rough((attempt.finished_at - attempt.started_at).total_seconds()) if attempt.started_at else None,
            clean(attempt.message, MESSAGE_LENGTH),
        )
        for attempt in attempts
    ]


_TOLD_OTHERWISE = ("free_attempts", "max_attempts")


def _progress(run: Any) -> dict[str, Any]:
    if run.last_progress_at is None:
        return {}
    return {
        "count": run.progress_count,
        "total": run.target_count,
        "message": run.progress_message,
        "cursor": run.cursor,
        "at": run.last_progress_at,
    }


def _free(count: int) -> str:
    return f", {count} of them free" if count else ""
