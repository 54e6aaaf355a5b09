"""Schedules whose jobs share a key: work that takes too long, and work that must not pile up."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobRun, ScheduleState
from jobs_app.scheduler.tick import tick
from tests.by_hand import HandWorker
from tests.scheduler.schedules import after, schedule

pytestmark = pytest.mark.django_db

MINUTE = 60.0


def tick_at(seconds: float) -> int:
    with frozen_clock(after(seconds)):
        return len(tick(connection).made)


@pytest.mark.spec("S3.18", "A3.5")
def test_a_slot_adds_none_while_an_exclusive_job_is_queued_or_running() -> None:
    @job(exclusive=True)
    def reconcile() -> None: ...

    schedule("reconcile")
    worker = HandWorker(lease=3600)
    assert tick_at(0) == 1
    assert tick_at(15) == 0  # it waits
    with frozen_clock(after(20)):
        [running] = worker.claim()
    assert [tick_at(moment) for moment in (30, 45, 60)] == [0, 0, 0]  # it runs
    assert Job.objects.count() == 1
    row = ScheduleState.objects.get()
    assert (row.next_run_at, row.last_error) == (after(75), "")  # the slots have passed
    with frozen_clock(after(70)):
        assert worker.report(worker.run(running))
    assert tick_at(75) == 1


@pytest.mark.spec("S3.18")
def test_an_exclusive_slot_is_of_one_subject() -> None:
    @job(exclusive=True, subject="name")
    def reconcile(name: str) -> None: ...

    for name in ("a", "b"):
        schedule("reconcile", subject=name, payload={"name": name})
    assert [tick_at(0), tick_at(15)] == [2, 0]


@pytest.mark.spec("S0.31")
def test_work_that_takes_longer_than_its_interval_runs_one_after_another_and_what_waits_grows() -> None:
    @job(singleton=True, subject="provider")
    def deal(provider: str) -> None: ...

    schedule("deal", subject="f01", payload={"provider": "f01"}, interval_seconds=15 * MINUTE)
    worker = HandWorker(lease=3600)
    waiting: list[int] = []
    spans: list[tuple[datetime, datetime]] = []
    busy_until = 0.0
    running = None
    for minute in range(0, 181, 5):  # every 15 minutes a slot, of work for 20
        moment = minute * MINUTE
        tick_at(moment)
        with frozen_clock(after(moment)):
            if running is not None and moment >= busy_until:
                spans.append((running.started_at, after(moment)))
                assert worker.report(worker.run(running))
                running = None
            claimed = worker.claim(5)
            assert len(claimed) == (running is None)  # never a second one beside it
            if claimed:
                [running], busy_until = claimed, moment + 20 * MINUTE
        waiting.append(Job.objects.filter(state="queued").count())
    assert len(spans) == JobRun.objects.count() == 9
    assert all(end - start == timedelta(minutes=20) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert (waiting[0], waiting[len(waiting) // 2], waiting[-1]) == (0, 2, 3)
