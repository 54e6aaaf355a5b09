"""The heartbeat: leases last as long as the jobs, and what handlers say reaches their rows."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError

from jobs_app import current_job, job
from jobs_app.lifecycle.heartbeat import extend
from jobs_app.models import Job, WorkerState
from jobs_app.worker import beat as beat_module
from jobs_app.worker import claimer as claimer_module
from jobs_app.worker import progress as progress_module
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("S1.3", "S1.8", "S2.19")
def test_a_job_of_several_leases_runs_once() -> None:
    """Its type has a much shorter lease than the worker gives, and so than the worker's usual beat."""

    @job(lease=0.9)
    def long() -> None:
        time.sleep(2.5)

    runs = long.enqueue_many([{}] * 3)
    with working(lease=30):
        assert set(finished(*runs)) == {"succeeded"}
    assert [(run.attempts, outcomes(run)) for run in runs] == [(1, ["success"])] * 3


def test_nothing_is_claimed_before_the_worker_is_in_the_list_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    announce, find_lanes = beat_module.announce, claimer_module.find_lanes
    looks: list[None] = []

    def looking(connection: Any) -> Any:
        looks.append(None)
        return find_lanes(connection)

    def announcing(*arguments: Any) -> None:
        until(lambda: len(looks) > 1)  # it could have claimed after the first
        states.append(state(run))
        announce(*arguments)

    @job
    def ping() -> None: ...

    monkeypatch.setattr(beat_module, "announce", announcing)
    monkeypatch.setattr(claimer_module, "find_lanes", looking)
    run, states = ping.enqueue(), []
    with working():
        assert finished(run) == ["succeeded"]
    assert states == ["queued"]


@pytest.mark.spec("S1.4")
def test_ten_thousand_words_of_progress_are_a_write_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[float] = []
    save = progress_module.save_progress

    def counted(connection: Any, words: Sequence[Any]) -> None:
        if words:
            writes.append(time.monotonic())
        save(connection, words)

    @job
    def chatty() -> float:
        began = time.monotonic()
        for number in range(10_000):
            current_job().progress(number + 1, 10_000, cursor=f"p{number}")
            if number % 5 == 0:
                time.sleep(0.001)
        return time.monotonic() - began

    monkeypatch.setattr(progress_module, "save_progress", counted)
    with working():
        run = chatty.enqueue()
        finished(run)
    assert (run.progress.count, run.progress.cursor) == (10_000, "p9999")
    assert 2 <= len(writes) <= run.result + 2


def test_progress_is_seen_while_the_job_runs() -> None:
    gate = threading.Event()

    @job
    def working_on() -> None:
        current_job().progress(1, 2, message="half")
        gate.wait(20)

    run = working_on.enqueue()
    with working():
        until(lambda: run.refresh().progress.message == "half", every=0.02)
        assert (run.status, run.progress.count, run.progress.total) == ("running", 1, 2)
        assert run.progress.at is not None
        gate.set()


def test_a_beat_that_failed_is_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moments: list[float] = []

    def fail_once(connection: Any, held: Any) -> Any:
        moments.append(time.monotonic())
        if len(moments) == 1:
            raise OperationalError("away")
        return extend(connection, held)

    monkeypatch.setattr(beat_module, "extend", fail_once)
    with working(lease=60):
        until(lambda: len(moments) >= 2, every=0.01)
    assert moments[1] - moments[0] < 10


def test_a_handler_learns_that_its_lease_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    saw = threading.Event()

    @job
    def overtaken() -> None:
        Job.objects.filter(pk=current_job().id).update(token=uuid4())
        until(lambda: current_job().lease_lost, every=0.01)
        saw.set()

    run = overtaken.enqueue()
    with caplog.at_level(logging.WARNING), working(lease=0.5):
        assert saw.wait(20)
    assert caplog.text.count(f"job={run.id} lost its lease while it runs here") == 1
    assert state(run) == "running"


def test_a_handler_learns_that_it_was_asked_to_stop() -> None:
    @job
    def patient() -> str:
        Job.objects.filter(pk=current_job().id).update(cancel_requested=True)
        until(lambda: current_job().cancelled, every=0.01)
        return "asked"

    run = patient.enqueue()
    with working(lease=0.5):
        assert finished(run) == ["succeeded"]
    assert run.result == "asked"


@pytest.mark.parametrize("abort", [False, True])
def test_a_wish_to_stop_is_told_between_the_beats_of_a_long_lease(abort: bool) -> None:
    @job
    def patient() -> None:
        until(lambda: current_job().cancelled, every=0.01)
        current_job().raise_if_cancelled()

    run = patient.enqueue()
    with working(lease=300):
        until(lambda: state(run) == "running", every=0.01)
        Job.objects.filter(pk=run.id).update(cancel_requested=not abort, abort_requested=abort)
        asked = time.monotonic()
        assert finished(run) == ["cancelled"]
        assert time.monotonic() - asked < 10
    assert (outcomes(run), run.error) == (["cancelled"], "asked to stop")


def test_short_jobs_cost_no_question_between_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[int] = []
    ask = beat_module.asked_to_stop

    def counted(connection: Any, held: Any) -> Any:
        if held:
            questions.append(len(held))
        return ask(connection, held)

    @job
    def short() -> None: ...

    monkeypatch.setattr(beat_module, "asked_to_stop", counted)
    with working(lease=300):
        finished(*short.enqueue_many([{}] * 100))
    assert questions == []


def test_a_worker_tells_who_it_is_and_comes_back_if_its_row_is_gone() -> None:
    gate = threading.Event()

    @job
    def long() -> None:
        gate.wait(20)

    with working(lease=0.3, queues=("default", "mail"), excluded=("mail.bulk",)) as worker:
        long.enqueue()
        row = WorkerState.objects.filter(pk=worker.identity.id)
        until(lambda: row.filter(busy=1).exists(), every=0.02)
        first = row.get()
        assert (first.queues, first.excluded, first.pid > 0, first.rss_bytes > 0) == (
            ["default", "mail"],
            ["mail.bulk"],
            True,
            True,
        )
        until(lambda: row.filter(seen_at__gt=first.seen_at).exists(), every=0.02)
        row.delete()
        until(row.exists, every=0.02)
        gate.set()
    assert not row.exists()


@pytest.mark.spec("S2.20")
def test_a_draining_worker_beats_until_its_last_job_has_ended() -> None:
    began, gate = threading.Event(), threading.Event()

    @job
    def long() -> None:
        began.set()
        gate.wait(20)

    run = long.enqueue()
    with working(lease=0.6, grace=20, recover_every=0.1) as worker, working(recover_every=0.1, queues=("none",)):
        began.wait(10)
        drain = threading.Thread(target=worker.drain)
        drain.start()
        until(lambda: WorkerState.objects.filter(pk=worker.identity.id, draining=True).exists(), every=0.02)
        lease = Job.objects.get().lease_expires_at
        until(lambda: (Job.objects.get().lease_expires_at - lease).total_seconds() > 1.2, every=0.02)
        gate.set()
        drain.join(20)
    assert (run.refresh().status, outcomes(run)) == ("succeeded", ["success"])


def test_a_worker_whose_database_is_away_stops_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **kwargs: Any) -> Any:
        raise OperationalError("away")

    with working() as worker:
        until(WorkerState.objects.exists, every=0.02)
        with monkeypatch.context() as patch:
            patch.setattr(beat_module, "leave", away)
            patch.setattr("jobs_app.worker.loop.STOP_CLAIMING_SECONDS", 0.3)
            began = time.monotonic()
            worker.drain()
            assert time.monotonic() - began < 5
