"""Seats beside processes, as the crew fills them: a job runs there, may be stopped there, or is taken back."""

from __future__ import annotations

import json
import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker.isolation.attempt import Attempt
from jobs_app.worker.isolation.pool import Pool
from jobs_app.worker.isolation.process import GONE_SECONDS, ChildProcess
from jobs_app.worker.verdicts import STOPPED
from tests.waiting import until
from tests.worker.flights import flight_of
from tests.worker.harness import Ledger, is_gone
from tests.worker.isolation.conftest import Ground


def test_each_job_runs_where_its_type_says(ground: Ground, zoo: Any) -> None:
    @job
    def in_thread() -> str:
        return threading.current_thread().name

    @job
    async def in_loop() -> str:
        return threading.current_thread().name

    flights = [ground.launch(each) for each in (in_thread, in_loop, zoo.who, zoo.awho)]
    thread, loop, process, async_process = [json.loads(ground.report(each).ended.result or "") for each in flights]
    assert (thread, loop) == ("jobs-0", "jobs-async")
    assert os.getpid() not in (process, async_process)


def test_a_job_in_a_process_is_stopped_by_force(ground: Ground, zoo: Any, ledger: Ledger) -> None:
    flight = ground.launch(zoo.never_ask)
    (began,) = ledger.wait("began")
    ground.crew.abort(flight)
    ended = ground.report(flight).ended
    assert (ended.state, ended.outcome) == ("cancelled", "cancelled")
    assert ended.error == f"{STOPPED}: the process was killed"
    assert is_gone(began["pid"])


# Jobs that the worker gives up


def test_a_job_that_was_given_up_is_gone_before_somebody_else_may_run_it(
    narrow: Ground, zoo: Any, ledger: Ledger
) -> None:
    flight = narrow.launch(zoo.never_ask)
    (began,) = ledger.wait("began")
    assert flight.end()
    narrow.crew.abandon(flight)
    assert is_gone(began["pid"])
    after = narrow.launch(zoo.who)
    assert narrow.report(after).ended.state == "succeeded"
    assert [known for known, _ in narrow.landed] == [after]  # its thread said nothing


def test_a_job_that_was_given_up_while_it_waited_for_its_process_never_starts(
    narrow: Ground, zoo: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_waiting, may_go_on = threading.Event(), threading.Event()
    wait_until_ready = ChildProcess.wait_until_ready

    def wait_long(child: ChildProcess) -> None:
        wait_until_ready(child)
        is_waiting.set()
        assert may_go_on.wait(30)

    monkeypatch.setattr(ChildProcess, "wait_until_ready", wait_long)
    flight = narrow.launch(zoo.never_ask)
    assert is_waiting.wait(30)
    assert flight.end()
    narrow.crew.abandon(flight)
    may_go_on.set()
    after = narrow.launch(zoo.who)  # it sits in the same seat
    assert narrow.report(after).ended.state == "succeeded"
    assert (ledger.lines(), flight.started) == ([], None)
    assert [known for known, _ in narrow.landed] == [after]


def test_a_success_counts_while_its_process_is_still_being_given_back(
    narrow: Ground, zoo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    give_back = Pool.give_back

    def give_back_slowly(pool: Pool, child: ChildProcess) -> None:
        assert may_go_on.wait(30)
        give_back(pool, child)

    monkeypatch.setattr(Pool, "give_back", give_back_slowly)
    flight = narrow.launch(zoo.who)
    until(lambda: flight.ended, every=0.01)  # so that the end of the worker's grace comes too late for it
    assert narrow.landed == []
    may_go_on.set()
    assert narrow.report(flight).ended.state == "succeeded"


def test_giving_up_what_is_over_neither_waits_nor_hurts_the_process(ledger: Ledger, zoo: Any) -> None:
    pool = Pool(1)
    try:
        child = pool.take()
        attempt = Attempt(flight_of(zoo.who), child)
        assert attempt.run().state == "succeeded"
        began = time.monotonic()
        attempt.abandon()
        assert time.monotonic() - began < GONE_SECONDS / 2
        assert child.is_fit()
    finally:
        pool.stop()


def test_what_waits_for_a_process_is_taken_back(ground: Ground, zoo: Any, ledger: Ledger, tmp_path: Path) -> None:
    size = ground.crew.size
    busy = [ground.launch(zoo.stay, until=str(tmp_path / "gate")) for _ in range(size)]
    ledger.wait("began", size)
    waiting = ground.launch(zoo.who)
    assert ground.crew.hurry(60, running=size) == []
    assert ground.crew.hurry(0, running=size) == [waiting]
    (tmp_path / "gate").touch()
    assert {ground.report(flight).ended.state for flight in busy} == {"succeeded"}


# Jobs that get no process


def test_a_job_for_which_no_process_can_be_started_goes_back_unspent(
    narrow: Ground, zoo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.no_such_settings")
    found = narrow.fly(zoo.who).ended
    assert (found.state, found.outcome, found.free, found.delay) == ("queued", "interrupted", True, 30)
    assert "no process could be started" in found.error


def test_a_seat_outlives_whatever_goes_wrong_with_a_new_process(
    narrow: Ground, zoo: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started: list[ChildProcess] = []

    def go_wrong(child: ChildProcess) -> None:
        started.append(child)
        raise ValueError("out of range")

    with monkeypatch.context() as broken:
        broken.setattr(ChildProcess, "wait_until_ready", go_wrong)
        found = narrow.fly(zoo.who).ended
    assert (found.state, found.free) == ("queued", True)
    assert "goes back: no child process for it (out of range)" in caplog.text
    assert started[0].is_gone()
    assert narrow.result(zoo.who)


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this system lets a process have no more than 1024 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for number in opened:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_worker_with_more_than_a_thousand_descriptors_runs_processes_too(
    many_descriptors: None, narrow: Ground, zoo: Any
) -> None:
    assert narrow.result(zoo.who)
    ended = narrow.fly(zoo.leave, how="exit").ended
    assert (ended.outcome, ended.error) == ("crashed", "the process ended with exit code 3")


def test_a_type_that_the_child_does_not_know_goes_back_unspent(ground: Ground) -> None:
    @job(isolation="process")
    def new_in_this_release() -> None: ...

    found = ground.fly(new_in_this_release).ended
    assert (found.state, found.free) == ("queued", True)
    assert "'new_in_this_release' is not registered" in found.error


@pytest.mark.parametrize("when", ["unfit", "cancelled"])
def test_a_job_that_must_not_run_meets_no_process(ground: Ground, zoo: Any, ledger: Ledger, when: str) -> None:
    flight = flight_of(zoo.never_ask)
    flight.unfit = ValueError("no timeout") if when == "unfit" else None
    flight.context.cancelled = when == "cancelled"
    ground.crew.launch([flight])
    assert ground.report(flight).ended.state in ("queued", "cancelled")
    assert ledger.lines() == []
