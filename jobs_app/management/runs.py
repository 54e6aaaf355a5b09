"""Runs and their attempts as the command line tells them to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs_app import durations
from jobs_app.insights.run_documents import AS_STORED
from jobs_app.insights.runs import status_of
from jobs_app.models import JobAttempt
from jobs_app.text import clean

MESSAGE_LENGTH = 60
ERROR_LENGTH = 40
ALWAYS = ("RUN", "STATE", "AGE", "TYPE")
COLUMNS = (*ALWAYS, "SUBJECT", "ERROR")


def run_fields(data: dict[str, Any]) -> dict[str, object]:
    """Of `run_data`, for people: what is empty or usual is left out."""
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


def run_table(runs: Sequence[Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Headers and rows of a list of runs; a column in which nothing would stand is left out."""
    told = [_columns(run) for run in runs]
    headers = tuple(name for name in COLUMNS if name in ALWAYS or any(row[name] for row in told))
    return headers, [tuple(row[name] for name in headers) for row in told]


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


def _columns(run: Any) -> dict[str, object]:
    status = status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)
    age = durations.rough((run.read_at - run.queued_at).total_seconds())
    error = clean((run.error_class or "").rpartition(".")[2], ERROR_LENGTH)
    return dict(zip(COLUMNS, (run.pk, status, age, run.job_type, run.subject, error), strict=True))


_TOLD_OTHERWISE = ("free_attempts", "max_attempts")


def _free(count: int) -> str:
    return f", {count} of them free" if count else ""
