"""The scheduler as a thread: what it does when, and that it goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError

from jobs_app import job, trigger
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, ScheduleState, WorkerState
from jobs_app.scheduler import loop as loop_module
from jobs_app.scheduler.loop import Chore, Scheduler
from jobs_app.scheduler.tick import Ticked
from tests.by_hand import HandWorker
from tests.scheduler.schedules import NOON, after, schedule
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def declare(**options: Any) -> None:
    @job(**options)
    def beat() -> None: ...


@contextmanager
def running(**options: Any) -> Iterator[Scheduler]:
    scheduler = Scheduler(**options)
    scheduler.start()
    try:
        yield scheduler
    finally:
        scheduler.stop()
        scheduler.join(30)
        assert not scheduler.is_alive()


@pytest.mark.spec("S0.12")
def test_it_ticks_at_start_and_is_on_time_for_slots_sooner_than_its_poll() -> None:
    declare(every=0.1)
    with running(poll=300):
        until(lambda: Job.objects.count() >= 4, every=0.01)


@pytest.mark.spec("S0.12")
def test_it_looks_for_new_schedules_at_each_poll() -> None:
    declare()
    with running(poll=0.05):
        until(WorkerState.objects.exists, every=0.01)
        row = schedule("beat", origin="admin", interval_seconds=86_400 * 36_500)
        until(lambda: Job.objects.filter(schedule=row.pk).exists(), every=0.01)


@pytest.mark.spec("S2.16")
def test_it_says_at_start_what_it_schedules(caplog: pytest.LogCaptureFixture) -> None:
    declare(name="beat", every=90)
    declare(name="unscheduled")

    @job(every=15, enabled=False)
    def off() -> None: ...

    with caplog.at_level(logging.INFO, "jobs_app.scheduler"), running():
        until(Job.objects.exists, every=0.01)
    told = [record.getMessage() for record in caplog.records]
    assert [line for line in told if line.startswith("Scheduled")] == ["Scheduled beat: every 1m 30s"]


@pytest.mark.spec("S0.34")
def test_switched_off_it_says_so_and_does_nothing(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.JOBS = {"SCHEDULER_ENABLED": False}
    declare(every=0.1)
    with caplog.at_level(logging.WARNING, "jobs_app.scheduler"), running() as scheduler:
        scheduler.join(30)
    assert "switched off by SCHEDULER_ENABLED" in caplog.text
    assert (ScheduleState.objects.count(), Job.objects.count(), WorkerState.objects.count()) == (0, 0, 0)


def test_it_is_seen_while_it_lives_and_gone_when_it_stops() -> None:
    declare(every=60)
    with running():
        seen = until(WorkerState.objects.first, every=0.01)
        assert (seen.kind, seen.job_types) == ("scheduler", ["beat"])
    assert not WorkerState.objects.exists()


def test_it_recovers_jobs_of_silent_workers() -> None:
    declare()
    with frozen_clock(NOON):
        run = trigger("beat")
        assert HandWorker(lease=30).claim()
    with running():
        until(lambda: run.refresh().status == "retrying", every=0.01)


def test_it_outlives_a_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(every=0.1)
    real, refused = loop_module.tick, []

    def shaky(*args: Any, **options: Any) -> Any:
        if len(refused) < 2:
            refused.append(1)
            raise OperationalError("the server is restarting")
        return real(*args, **options)

    monkeypatch.setattr(loop_module, "tick", shaky)
    with running():
        until(Job.objects.exists, every=0.01)
    assert len(refused) == 2


def test_it_is_seen_to_live_between_the_batches_of_a_long_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler(poll=300)
    seen: list[bool] = []

    def long_tick(*args: Any, go_on: Any, **options: Any) -> Ticked:
        assert go_on()
        seen.append(WorkerState.objects.exists())
        return Ticked(at=NOON)

    monkeypatch.setattr(loop_module, "tick", long_tick)
    scheduler._tick()
    assert seen == [True]


@pytest.mark.parametrize(
    ("next_slot", "seconds"), [(None, 1), (after(10), 1), (after(0.4), 0.4), (after(0.999), 0.999), (after(-5), 1)]
)
def test_it_sleeps_until_the_next_slot_and_looks_for_others_meanwhile(
    next_slot: Any, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is due and not to be had is in another scheduler's hands: it may die with it."""
    monkeypatch.setattr(loop_module, "next_due", lambda *args, **options: next_slot)
    monkeypatch.setattr(loop_module, "LOOK_SHARE", float("inf"))  # however slow this machine is
    with frozen_clock(NOON):
        assert Scheduler(poll=300)._look() == pytest.approx(seconds)


def test_what_comes_due_while_a_long_tick_runs_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    declare()
    schedule("beat", next_run_at=NOON)
    schedule("beat", name="other", next_run_at=after(1))
    moments = iter([NOON, after(60)])
    monkeypatch.setattr(loop_module, "database_now", lambda connection: next(moments))
    with frozen_clock(NOON):
        assert Scheduler(poll=300)._look() == 0
    assert Job.objects.count() == 1


def test_where_a_look_takes_long_it_looks_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler(poll=300)
    monkeypatch.setattr(scheduler, "_next_slot", lambda now: (None, 2.0))
    assert scheduler._look() == 40


@pytest.mark.spec("S0.R13")
def test_a_tick_longer_than_the_poll_lets_the_next_one_fall_out_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jobs_app"):
        assert Scheduler(poll=1e-9)._tick() == 1e-9
    assert "scheduler_tick_skipped" in caplog.text


def test_a_resumed_schedule_does_not_wait_for_the_poll() -> None:
    declare()
    row = schedule("beat", origin="admin", paused=True)
    with running(poll=300):
        until(WorkerState.objects.exists, every=0.01)
        control.resume_schedule(row.pk, "ann")
        until(Job.objects.exists, every=0.01)


def test_a_chore_that_failed_stays_due() -> None:
    answers: list[Any] = [OperationalError("no"), 300.0]

    def do() -> float:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return float(answer)

    chore = Chore(do)
    with pytest.raises(OperationalError):
        chore.do_if_due()
    chore.do_if_due()
    chore.do_if_due()
    assert answers == []


def test_a_chore_with_a_fault_of_its_own_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(connection: Any) -> Any:
        raise ValueError("a row of it cannot be read")

    declare()
    schedule("beat", interval_seconds=0.1)
    monkeypatch.setattr(loop_module, "sync_declared", broken)
    monkeypatch.setattr(loop_module, "TRY_AGAIN_SECONDS", 0.01)
    with caplog.at_level(logging.ERROR, "jobs_app.scheduler"), running(poll=300):
        until(lambda: Job.objects.count() >= 3, every=0.01)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["the scheduler's sync failed (a row of it cannot be read); trying again"]


@pytest.mark.spec("S1.25")
def test_it_follows_what_operators_change_of_the_settings(chores: Any) -> None:
    with running() as scheduler:
        pruning = ScheduleState.objects.filter(job_type="jobs.prune")
        until(lambda: pruning.filter(interval_seconds=600).exists(), every=0.02)
        control.change_setting("scheduler_poll_seconds", 60, actor="ann")
        control.change_setting("prune_every_seconds", 120, actor="ann")
        until(lambda: pruning.filter(interval_seconds=120).exists(), every=0.02, seconds=5)
        assert scheduler.poll == 60


@pytest.mark.spec("S1.25")
def test_another_poll_lets_sources_be_read_now_and_a_poll_of_its_own_does_not() -> None:
    read: list[str] = []

    class Reader:
        def follow_settings(self, connection: Any) -> None:
            read.append("now")

    scheduler = Scheduler()
    scheduler._reader = Reader()  # type: ignore[assignment]
    scheduler._follow_settings()
    control.change_setting("catch_up_max", 7, actor="ann")
    scheduler._follow_settings()
    assert (read, [chore.due for chore in scheduler._chores]) == ([], [0.0] * len(scheduler._chores))
    control.change_setting("scheduler_poll_seconds", 60, actor="ann")
    scheduler._follow_settings()
    assert (read, scheduler.poll, Scheduler(poll=300).poll) == (["now"], 60, 300)
