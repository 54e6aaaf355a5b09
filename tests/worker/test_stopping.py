"""Jobs that are asked to stop, or stopped by force, from the request to history."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group

from jobs_app import current_job, job
from jobs_app.models import Job, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., WorkerProcess]


def ask_to_stop(*runs: Any, abort: bool = False) -> None:
    Job.objects.filter(pk__in=[run.id for run in runs]).update(cancel_requested=True, abort_requested=abort)


def ending(run: Any) -> tuple[str, str, str]:
    stored = JobRun.objects.get(pk=run.id)
    return stored.state, stored.outcome, stored.done_reason


CANCELLED = ("cancelled", "cancelled", "cancelled")


def test_a_running_job_is_told_within_seconds_whatever_its_lease(start: Start, samples: Any, ledger: Ledger) -> None:
    worker = start("--lease", "600").wait_for_start()
    asked, other = samples.stop_when_told.enqueue(), samples.stop_when_told.enqueue()
    ledger.wait("began", 2)
    ask_to_stop(asked)
    began = time.monotonic()
    (told,) = ledger.wait("told")
    assert time.monotonic() - began < 10
    assert (told["job"], finished(asked), ending(asked)) == (str(asked.id), ["cancelled"], CANCELLED)
    assert state(other) == "running"
    ask_to_stop(other)
    assert finished(other) == ["cancelled"]
    assert "lost its lease" not in worker.stop()


def test_an_aborted_async_job_is_cancelled_and_its_worker_goes_on(start: Start, samples: Any, ledger: Ledger) -> None:
    worker = start("--lease", "600").wait_for_start()
    aborted, other = samples.wait_forever.enqueue(), samples.wait_forever.enqueue()
    ledger.wait("began", 2)
    ask_to_stop(aborted, abort=True)
    assert (finished(aborted), ending(aborted)) == (["cancelled"], CANCELLED)
    assert (aborted.error, outcomes(aborted)) == ("stopped by force", ["cancelled"])
    assert [line["job"] for line in ledger.lines("cleaned up")] == [str(aborted.id)]
    assert (state(other), finished(samples.aping.enqueue())) == ("running", ["succeeded"])
    ask_to_stop(other, abort=True)
    finished(other)
    worker.stop()


def test_a_success_that_came_first_stands(start: Start, samples: Any, ledger: Ledger, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    worker = start().wait_for_start()
    run = samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    ask_to_stop(run, abort=True)  # of a thread nothing more can be asked than to stop
    gate.touch()
    assert finished(run) == ["succeeded"]
    assert ending(run) == ("succeeded", "success", "worker_done")
    worker.stop()


def test_an_error_of_a_job_that_was_asked_to_stop_is_kept_and_not_retried() -> None:
    @job
    def failing() -> None:
        until(lambda: current_job().cancelled, every=0.01)
        raise ConnectionError("cut off while it cleaned up")

    run = failing.enqueue()
    with working():
        until(lambda: state(run) == "running", every=0.01)
        ask_to_stop(run)
        assert finished(run) == ["cancelled"]
    assert (ending(run), run.error) == (CANCELLED, "cut off while it cleaned up")


def test_a_retry_that_meets_a_wish_to_stop_nobody_was_told_of_is_cancelled_too() -> None:
    @job
    def failing() -> None:
        ask_to_stop(current_job())
        raise ConnectionError("away")

    run = failing.enqueue()
    with working():
        assert finished(run) == ["cancelled"]
    assert run.error == "away"


def test_a_job_that_was_asked_to_stop_is_not_released_by_a_worker_that_stops() -> None:
    gate, told = threading.Event(), threading.Event()

    @job
    def deaf() -> None:
        until(lambda: current_job().cancelled, every=0.01)
        told.set()
        gate.wait(20)

    run = deaf.enqueue()
    with working(grace=0.1, on_shutdown="release") as worker:
        until(lambda: state(run) == "running", every=0.01)
        ask_to_stop(run)
        assert told.wait(20)
        worker.drain()
        gate.set()
    assert ending(run) == CANCELLED
    assert "Worker shutdown" in run.refresh().error


def test_an_aborted_async_job_has_no_second_life_in_its_result() -> None:
    @job
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "as if nothing was"
        return ""

    run = stubborn.enqueue()
    with working():
        until(lambda: state(run) == "running", every=0.01)
        ask_to_stop(run, abort=True)
        assert finished(run) == ["cancelled"]
    assert (ending(run), run.result) == (CANCELLED, None)


def test_what_an_atomic_job_wrote_goes_when_it_stops_as_asked() -> None:
    @job(atomic=True)
    def pay() -> None:
        Group.objects.create(name="paid")
        current_job().cancelled = True  # as the heartbeat would, which on SQLite waits for this transaction
        current_job().raise_if_cancelled()

    run = pay.enqueue()
    with working():
        assert finished(run) == ["cancelled"]
    assert not Group.objects.exists()
