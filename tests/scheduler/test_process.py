"""`runscheduler` as a process: signals, exit codes, and one tick for an outer cron."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jobs_app import due, job, subjects
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job, JobRun, ScheduleState, WorkerState
from jobs_app.scheduler.process import PARTLY_DONE, tick_once
from tests.by_hand import HandWorker
from tests.lifecycle.history import finished, left
from tests.scheduler.schedules import NOON, schedule
from tests.waiting import until

CHILD = Path(__file__).with_name("child.py")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(child_environment: dict[str, str]) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, CHILD, *arguments],
            env={**child_environment, "PYTHONPATH": str(CHILD.parents[2]), **variables},
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "jobs_app.scheduler"]


def succeeded() -> list[str]:
    """The names of the app's own chores that were done."""
    rows = JobRun.objects.filter(queue="jobs.system", state="succeeded")
    return list(rows.values_list("job_type", flat=True))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(start: Start, number: signal.Signals) -> None:
    child = start("runscheduler", "--poll", "60")
    until(lambda: Job.objects.count() >= 2)
    child.send_signal(number)
    _, log = child.communicate(timeout=30)
    assert child.returncode == 0, log
    assert "Scheduled child-beat: every 0.05s" in log
    assert "scheduler stopped" in log
    assert not WorkerState.objects.exists()


def test_while_no_worker_lives_it_does_the_apps_own_chores_itself(start: Start) -> None:
    old = finished(400)
    child = start("runscheduler", CHORES="1")
    until(lambda: old not in left())
    until(lambda: set(succeeded()) >= {"jobs.notify", "jobs.prune", "jobs.reconcile", "jobs.rollup"})
    assert Job.objects.filter(job_type="child-beat").exists()
    assert not JobRun.objects.filter(job_type="child-beat").exists()
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 0


def test_a_tick_by_an_outer_cron_does_them_too(start: Start) -> None:
    old = finished(400)
    child = start("runscheduler", "--once", CHORES="1")
    _, log = child.communicate(timeout=60)
    assert child.returncode == 0, log
    assert old not in left()
    assert sorted(succeeded()) == ["jobs.notify", "jobs.prune", "jobs.reconcile", "jobs.rollup"]


@pytest.mark.django_db(transaction=True)
def test_where_a_worker_lives_they_are_left_to_it(start: Start) -> None:
    announce(connection, Presence(id="host-1-abc", beat_seconds=600))
    child = start("runscheduler", "--once", CHORES="1")
    _, log = child.communicate(timeout=60)
    assert child.returncode == 0, log
    assert sorted(Job.objects.filter(queue="jobs.system").values_list("job_type", flat=True)) == [
        "jobs.notify",
        "jobs.prune",
        "jobs.reconcile",
        "jobs.rollup",
    ]
    assert succeeded() == []


def test_beside_a_worker_it_makes_jobs_and_signs_off_with_it(start: Start) -> None:
    child = start("runworker", "--with-scheduler")
    until(lambda: JobRun.objects.filter(job_type="child-beat").count() >= 2)
    assert set(WorkerState.objects.values_list("kind", flat=True)) == {"scheduler", "worker"}
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 0
    assert not WorkerState.objects.exists()


@pytest.mark.spec("S4.1", "S0.7")
def test_jobs_are_worked_off_while_no_scheduler_lives_and_made_while_no_worker_does(start: Start) -> None:
    child = start("runscheduler")
    until(lambda: Job.objects.count() >= 3)
    child.kill()
    child.wait()
    slots = set(Job.objects.values_list("slot_at", flat=True))
    assert len(slots) == Job.objects.count()

    @job(name="child-beat")
    def beat() -> None: ...

    worker, made = HandWorker(), Job.objects.count()
    assert [ended.state for ended in iter(worker.work, None) if ended] == ["succeeded"] * made


def test_several_at_once_and_one_killed_make_each_slot_once(start: Start) -> None:
    first, *others = [start("runscheduler") for _ in range(3)]
    until(lambda: WorkerState.objects.count() == 3)
    first.kill()
    known = Job.objects.count()
    until(lambda: Job.objects.count() >= known + 10)
    for child in others:
        child.send_signal(signal.SIGTERM)
    assert [child.wait(30) for child in others] == [0, 0]
    slots = sorted(slot.timestamp() for slot in Job.objects.values_list("slot_at", flat=True) if slot)
    gaps = [round((later - sooner) / 0.05, 3) for sooner, later in pairwise(slots)]
    assert all(gap >= 1 and gap == int(gap) for gap in gaps), gaps


def test_switched_off_it_stays_and_waits_for_its_signal(start: Start, tmp_path: Path) -> None:
    (tmp_path / "switched_off.py").write_text(
        "from tests.settings import *\nJOBS = {'SCHEDULER_ENABLED': False}\n", encoding="utf-8"
    )
    path = f"{tmp_path}:{CHILD.parents[2]}"
    child = start("runscheduler", DJANGO_SETTINGS_MODULE="switched_off", PYTHONPATH=path)
    assert child.stderr is not None
    assert "switched off by SCHEDULER_ENABLED" in child.stderr.readline()
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 0
    assert not ScheduleState.objects.exists()


@pytest.mark.django_db
@pytest.mark.spec("S4.16")
def test_one_tick_tells_what_it_found_and_made(caplog: pytest.LogCaptureFixture) -> None:
    @job(every=60)
    def charge() -> None: ...

    for n in range(4):
        schedule("charge", subject=f"sub-{n}", next_run_at=NOON)
    with caplog.at_level(logging.INFO, "jobs_app"), frozen_clock(NOON):
        assert tick_once() == 0
    ids = {live.subject: live.id for live in Job.objects.all()}
    names = [*(f"sub-{n}" for n in range(4)), ""]
    assert told(caplog) == [
        "⏰ Starting scheduler...",
        "📊 5 schedules found",
        "✅ 5 jobs scheduled successfully",
        *(f"📦 Job created for {f'charge {name}'.strip()} ({ids[name]})" for name in names),
        "🎉 Scheduler executed successfully",
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, "jobs_app"), frozen_clock(NOON):
        assert tick_once() == 0
    assert "✅ 0 jobs scheduled successfully" in told(caplog)


@pytest.mark.django_db
@pytest.mark.spec("S4.16")
def test_one_tick_does_not_speak_of_the_apps_own_chores(chores: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "jobs_app"), frozen_clock(NOON):
        assert tick_once() == 0
    assert Job.objects.filter(queue="jobs.system").count() == 4
    assert [line[0] for line in told(caplog)] == ["⏰", "📊", "✅", "🎉"]
    assert "📊 0 schedules found" in told(caplog)


@pytest.mark.django_db
def test_one_tick_with_a_failure_is_partly_done(caplog: pytest.LogCaptureFixture) -> None:
    @job
    def charge() -> None: ...

    schedule("charge", subject="good")
    schedule("charge", subject="bad", payload={"unknown": 1})
    with caplog.at_level(logging.INFO, "jobs_app"):
        assert tick_once() == PARTLY_DONE
    assert told(caplog)[-1] == "❌ 1 schedules or rows of sources failed"
    assert Job.objects.get().subject == "good"


def away() -> list[str]:
    raise RuntimeError("the registry is away")


@pytest.mark.django_db
@pytest.mark.parametrize("name", [subjects, due])
@pytest.mark.parametrize("function", [away, lambda: [None]])
def test_one_tick_without_what_a_source_should_yield_is_partly_done(
    name: Any, function: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @job(exclusive=True, every=60)
    def charge() -> None: ...

    name("charge")(function)
    with caplog.at_level(logging.INFO, "jobs_app"):
        assert tick_once() == PARTLY_DONE
    assert told(caplog)[-1] == "❌ 1 schedules or rows of sources failed"


@pytest.mark.django_db
@pytest.mark.spec("S0.34")
def test_one_tick_switched_off_does_nothing(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.JOBS = {"SCHEDULER_ENABLED": False}

    @job(every=60)
    def charge() -> None: ...

    assert tick_once() == 0
    assert (ScheduleState.objects.count(), Job.objects.count()) == (0, 0)
    assert "switched off" in caplog.text
