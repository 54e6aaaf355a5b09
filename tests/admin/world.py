"""One of everything that a page can show: runs in each state, schedules, pauses, workers, windows, events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from jobs_app.definitions import JobDefinition
from jobs_app.ids import uuid7
from jobs_app.models import (
    ApiToken,
    ControlEvent,
    Job,
    JobAttempt,
    JobItem,
    JobRun,
    MaintenanceWindow,
    Pause,
    QueueState,
    RuntimeSetting,
    ScheduleState,
    WorkerState,
)
from jobs_app.registry import registry

ALIVE, GONE = "worker-alive", "worker-gone"
KNOWN = ["charge-card", "nightly-export", "poll-prices", "send-report", "sync-stock"]  # to workers; crunch is not
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
TRACEBACK = 'Traceback (most recent call last):\n  File "shop/jobs.py", line 36\nConnectionError: no answer'


@dataclass(frozen=True)
class World:
    """What tests name; everything else is only there to be seen."""

    queued: UUID
    scheduled: UUID
    retrying: UUID
    running: UUID
    lost: UUID
    succeeded: UUID
    failed: UUID
    cancelled: UUID
    schedule: int
    paused_schedule: int
    code_schedule: int
    window: int
    token: int


def register_shop() -> None:
    """The job types of the shop, for the time of a test. An import does it only once."""
    from tests.browser.shop import jobs

    for definition in vars(jobs).values():
        if isinstance(definition, JobDefinition) and registry.find(definition.name) is None:
            registry.register(definition.job_type)


def make_world() -> World:
    now = timezone.now()
    _workers(now)
    _around(now)
    return World(**_live(now), **_finished(now), **_schedules(now), window=_window(), token=_token(now))


def _live(now: datetime) -> dict[str, UUID]:
    claimed = {"state": "running", "attempts": 1, "started_at": now - HOUR, "first_started_at": now - HOUR}
    progress = {"progress_count": 2, "target_count": 4, "progress_message": "part 2 of 4", "last_progress_at": now}
    return {
        "queued": _job(now, job_type="send-report", queue="reports", subject="acme", hold="pause"),
        "scheduled": _job(now, run_at=now + HOUR),
        "retrying": _job(now, attempts=1, run_at=now + 300 * SECOND, last_error="no answer"),
        "running": _job(now, **claimed, **progress, worker_id=ALIVE, token=uuid4(), lease_expires_at=now + HOUR),
        "lost": _job(
            now,
            **claimed,
            job_type="crunch",
            queue="doomed",
            worker_id=GONE,
            token=uuid4(),
            lease_expires_at=now - HOUR / 2,
        ),
    }


def _finished(now: datetime) -> dict[str, UUID]:
    failed = _run(now, "failed", outcome="error", done_reason="exhausted", error="no answer")
    JobAttempt.objects.create(
        job_id=failed,
        number=1,
        token=uuid4(),
        worker_id=ALIVE,
        started_at=now - 4 * SECOND,
        finished_at=now - 3 * SECOND,
        outcome="error",
        success=False,
        error_class="ConnectionError",
        message="no answer",
        traceback=TRACEBACK,
        log_excerpt="calling the bank",
    )
    for number in range(25):
        JobItem.objects.create(job_id=failed, key=f"card-{number:02}", data={"paid": number, "card_token": "s3cr3t"})
    return {
        "succeeded": _run(now, "succeeded", outcome="success", result={"paid": True}, subject="acme"),
        "failed": failed,
        "cancelled": _run(now, "cancelled", outcome="cancelled"),
    }


def _schedules(now: datetime) -> dict[str, int]:
    known: dict[str, Any] = {"next_run_at": now + HOUR, "last_run_at": now - HOUR, "last_slot": now - HOUR}
    make = ScheduleState.objects.create
    bremen = {"subject": "Bremen", "payload": {"branch": "Bremen"}}
    own = make(job_type="sync-stock", name="own", origin="admin", interval_seconds=3600, **bremen, **known)
    paused = make(job_type="poll-prices", interval_seconds=3600, paused=True, **known)
    nightly = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "overrides": {"cron": "30 2 * * *"}}
    of_code = make(job_type="nightly-export", **nightly, **known)
    return {"schedule": own.pk, "paused_schedule": paused.pk, "code_schedule": of_code.pk}


def _workers(now: datetime) -> None:
    for name, kind, seen_at in (
        (ALIVE, "worker", now),
        (GONE, "worker", now - HOUR),
        ("scheduler-1", "scheduler", now),
    ):
        WorkerState.objects.create(
            id=name,
            kind=kind,
            host="host-1",
            pid=7,
            version="1",
            queues=["default", "reports"],
            job_types=KNOWN,
            concurrency=10,
            busy=1,
            rss_bytes=50_000_000,
            beat_seconds=3600 if seen_at == now else 5,  # alive for as long as the test takes
            started_at=now - 2 * HOUR,
            seen_at=seen_at,
        )


def _around(now: datetime) -> None:
    QueueState.objects.create(name="reports", max_running=2)
    for scope, name in (("all", ""), ("queue", "stock"), ("job_type", "sync-stock"), ("subject", "acme")):
        Pause.objects.create(scope=scope, name=name, reason="invoice dispute", actor="ops", until=now + HOUR)
        ControlEvent.objects.create(actor="ops", action="pause", target_kind=scope, target=name, moved=1)
    RuntimeSetting.objects.create(name="catch_up_max", value=7, actor="ops")


def _window() -> int:
    MaintenanceWindow.objects.create(name="old", start=time(4), minutes=20, enabled=False)
    return MaintenanceWindow.objects.create(name="backup", start=time(3), minutes=20, queues=["nightly"]).pk


def _token(now: datetime) -> int:
    made = {"scopes": ["pull", "report"], "token_hash": "0" * 64, "created_by": "ops"}
    ApiToken.objects.create(name="old crawler", prefix="old00000", **made, revoked_at=now - HOUR)
    ApiToken.objects.create(name="guest", prefix="guest000", **made, expires_at=now - HOUR)
    for_mail = {"queues": ["mail.*"], "job_types": ["send-report"], "expires_at": now + 999 * HOUR}
    return ApiToken.objects.create(name="crawler", prefix="crawl000", **made, **for_mail, last_used_at=now).pk


def _job(now: datetime, **columns: Any) -> UUID:
    return Job.objects.create(**_columns(now) | {"state": "queued", "run_at": now - 9 * SECOND} | columns).pk


def _run(now: datetime, state: str, **columns: Any) -> UUID:
    moments = {"run_at": now - 5 * SECOND, "started_at": now - 4 * SECOND, "finished_at": now - 3 * SECOND}
    told = {"state": state, "attempts": 1, "worker_id": ALIVE, "first_started_at": now - 4 * SECOND}
    return JobRun.objects.create(**_columns(now) | moments | told | columns).pk


def _columns(now: datetime) -> dict[str, Any]:
    return {
        "id": uuid7(),
        "job_type": "charge-card",
        "queue": "default",
        "queued_at": now - 10 * SECOND,
        "max_attempts": 3,
        "payload": {"order": 7, "api_token": "s3cr3t"},
    }
