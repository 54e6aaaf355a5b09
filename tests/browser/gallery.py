"""A day in the shop's life, for pictures: what ran, how fast, what failed. Rows only; nothing of it is started."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from uuid import uuid4

from django.db import connection
from django.utils import timezone

from jobs_app.ids import uuid7
from jobs_app.lifecycle import rollups
from jobs_app.lifecycle.rollups import MINUTE, Sample
from jobs_app.models import Job, JobAttempt, JobRun, Pause, QueueState, ScheduleState, WorkerState
from tests.admin.world import ALIVE, World, make_world

RUNS, ROLLED_UP = 900, 60  # over a day; minutes
TYPES = {  # queue, typical seconds, what it fails with, how often
    "charge-card": ("default", 1.2, "ConnectionError", 0.05),
    "send-report": ("reports", 14.0, "TimeoutError", 0.03),
    "sync-stock": ("stock", 5.0, "ValueError", 0.02),
    "poll-prices": ("default", 0.6, "", 0.0),
}
BRANCHES = ("Bremen", "Cadiz", "Dover", "Gdansk", "Malmo", "Porto")
MESSAGES = {
    "ConnectionError": "the bank did not answer",
    "TimeoutError": "30 s were over",
    "ValueError": "no such shelf",
}


def make_gallery() -> World:
    world, now, random = make_world(), timezone.now(), Random(7)
    Pause.objects.exclude(scope="subject").delete()
    QueueState.objects.filter(name="reports").update(max_running=4)
    WorkerState.objects.filter(pk=ALIVE).update(queues=["default", "reports", "stock"], busy=6)
    for branch in BRANCHES:
        ScheduleState.objects.get_or_create(
            job_type="sync-stock",
            subject=branch,
            defaults={"origin": "source", "interval_seconds": 900, "next_run_at": now + random.random() * MINUTE * 40},
        )
    for schedule in ScheduleState.objects.filter(job_type="nightly-export"):
        ScheduleState.objects.filter(pk=schedule.pk).update(next_run_at=schedule.timetable.first(now))
    _history(now, random)
    _waiting(now, random)
    for minutes in range(1, ROLLED_UP + 1):
        minute = rollups.minute_of(now) - minutes * MINUTE
        rollups.write(connection, minute, [*rollups.of_minute(connection, minute), *_levels(minutes)])
    return world


def _history(now: datetime, random: Random) -> None:
    runs, attempts = [], []
    for _ in range(RUNS):
        lately = timedelta(hours=1) if random.random() < 0.4 else timedelta(days=1)
        run = _run(now - timedelta(seconds=20) - lately * random.random(), random)
        runs.append(run)
        if run.state == "failed":
            attempts.append(_attempt(run))
    JobRun.objects.bulk_create(runs)
    JobAttempt.objects.bulk_create(attempts)


def _run(queued_at: datetime, random: Random) -> JobRun:
    name = random.choices(list(TYPES), weights=[5, 2, 4, 3])[0]
    queue, seconds, error, share = TYPES[name]
    is_failed = random.random() < share
    started_at = queued_at + timedelta(seconds=random.expovariate(0.5))
    return JobRun(
        id=uuid7(int(queued_at.timestamp() * 1000)),
        state="failed" if is_failed else "succeeded",
        job_type=name,
        queue=queue,
        subject=random.choice(BRANCHES) if name == "sync-stock" else "",
        run_at=queued_at,
        queued_at=queued_at,
        first_started_at=started_at,
        started_at=started_at,
        finished_at=started_at + timedelta(seconds=seconds * random.lognormvariate(0, 0.5)),
        attempts=1,
        max_attempts=1,
        payload={"order": random.randrange(10_000)},
        worker_id=ALIVE,
        outcome="error" if is_failed else "success",
        done_reason="exhausted" if is_failed else "",
        error=MESSAGES[error] if is_failed else "",
    )


def _attempt(run: JobRun) -> JobAttempt:
    return JobAttempt(
        job_id=run.pk,
        number=1,
        token=uuid4(),
        worker_id=ALIVE,
        started_at=run.started_at,
        finished_at=run.finished_at,
        outcome="error",
        success=False,
        error_class=TYPES[run.job_type][2],
        message=run.error,
    )


def _waiting(now: datetime, random: Random) -> None:
    Job.objects.bulk_create(
        Job(
            id=uuid7(),
            state="queued",
            job_type="send-report",
            queue="reports",
            subject=random.choice(BRANCHES),
            run_at=now - timedelta(seconds=number * 4),
            queued_at=now - timedelta(seconds=number * 4),
            max_attempts=1,
            payload={"month": "November"},
        )
        for number in range(24)
    )


def _levels(minutes_ago: int) -> Iterator[Sample]:
    """How much waited and ran then: one queue breathes, one falls behind."""
    swell = 4 + 3 * math.sin(minutes_ago / 5)
    for queue, waiting in (("default", swell), ("stock", swell / 2), ("reports", max(0, 26 - minutes_ago / 2))):
        yield Sample("waiting", queue, round(waiting))
        yield Sample("running", queue, 2)
        yield Sample("oldest_wait", queue, round(waiting) * 4)
