"""A claimed job and its flight without a database behind them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from jobs_app.definitions import JobDefinition
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.worker.context import JobContext
from jobs_app.worker.flight import Flight, Report
from tests.waiting import until

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def claimed(**changes: Any) -> ClaimedJob:
    given: dict[str, Any] = {
        "id": uuid4(),
        "token": uuid4(),
        "job_type": "sample",
        "queue": "default",
        "priority": 0,
        "run_at": NOON,
        "queued_at": NOON,
        "started_at": NOON,
        "subject": "",
        "attempts": 1,
        "free_attempts": 0,
        "max_attempts": 5,
        "payload": "{}",
        "meta": "{}",
        "actor": "",
        "parent": None,
        "key": None,
        "slot_at": None,
        "cursor": "",
        "progress_count": 0,
        "result_count": 0,
        "target_count": None,
        "timeout_seconds": None,
        "policy": "standard",
        "gate": 0,
    }
    return ClaimedJob(**(given | changes))


def context_of(**changes: Any) -> JobContext:
    return JobContext(claimed(**changes), worker="host1234", worker_id="host-1234-uuid")


def flight_of(definition: JobDefinition[..., Any], **changes: Any) -> Flight:
    job = claimed(job_type=definition.name, **changes)
    context = JobContext(job, worker="host1234", worker_id="host-1234-uuid")
    return Flight(job, definition.job_type, context, 30, time.monotonic())


class Ended(list[tuple[Flight, Report | None]]):
    """What an executor says when a flight is over."""

    def __call__(self, flight: Flight, report: Report | None) -> None:
        self.append((flight, report))

    def wait(self, count: int) -> list[str | None]:
        until(lambda: len(self) >= count, every=0.01)
        return [report and report.ended.state for _, report in self]
