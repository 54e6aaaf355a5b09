"""Several processes under one: as many as asked for, until told otherwise."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs_app import job
from jobs_app.models import Job, WorkerState
from jobs_app.runtime.stopping import StopSignals
from jobs_app.worker import supervisor as supervisor_module
from jobs_app.worker.loop import WorkerOptions
from jobs_app.worker.supervisor import Place, Supervisor
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, is_gone, outcomes

Start = Callable[..., WorkerProcess]


def workers_up(supervisor: WorkerProcess, count: int) -> list[int]:
    supervisor.wait_for_log(" slots\n", count)
    return until(lambda: len(found := supervisor.children()) == count and found, every=0.02)


@pytest.mark.spec("S0.37")
def test_a_killed_process_is_replaced_and_a_stop_ends_them_all(start: Start, samples: Any, ledger: Ledger) -> None:
    supervisor = start("--processes", "2", "--with-scheduler")
    first = workers_up(supervisor, 2)
    os.kill(first[0], signal.SIGKILL)
    supervisor.wait_for_log("a worker process ended with code -9")
    supervisor.wait_for_log(" slots\n", 3)
    second = until(lambda: len(found := supervisor.children()) == 2 and found, every=0.02)
    assert len(set(first) & set(second)) == 1
    assert finished(*(samples.ping.enqueue() for _ in range(5))) == ["succeeded"] * 5
    log = supervisor.stop()
    assert all(is_gone(pid) for pid in {*first, *second})
    assert log.count("worker stopped:") == 2
    assert not WorkerState.objects.exclude(pid=first[0]).exists()


def test_processes_are_renewed_after_so_many_jobs(start: Start, samples: Any, ledger: Ledger) -> None:
    supervisor = start("--processes", "2", "--max-jobs", "3")
    runs = [samples.ping.enqueue() for _ in range(10)]
    assert set(finished(*runs)) == {"succeeded"}
    counts = Counter(line["pid"] for line in ledger.lines("ran"))
    assert sum(counts.values()) == 10
    assert max(counts.values()) <= 3
    assert "a worker process ended with code 0; a new one starts in 0.0 s" in supervisor.stop()


def test_processes_whose_supervisor_is_killed_finish_their_jobs_and_end(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    supervisor = start("--processes", "2")
    children = workers_up(supervisor, 2)
    run = samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    supervisor.signal(signal.SIGKILL)
    supervisor.process.wait()
    until(lambda: supervisor.log().count("the supervisor is gone; stopping") == 2, every=0.02)
    gate.touch()
    until(lambda: all(is_gone(pid) for pid in children), every=0.02)
    assert (run.refresh().status, outcomes(run)) == ("succeeded", ["success"])


def test_a_later_signal_forces_all_processes_and_exits_1(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    supervisor = start("--processes", "2", "--concurrency", "1", "--grace", "60")
    runs = [samples.hold.enqueue(until=str(tmp_path / "never")) for _ in range(2)]
    ledger.wait("began", 2)
    children = supervisor.children()
    began = time.monotonic()
    supervisor.term()
    supervisor.wait_for_log("stopping: 1 job runs, it has up to 60 s", 2)
    while supervisor.process.poll() is None:
        supervisor.term()
        time.sleep(0.1)
        assert time.monotonic() - began < 30, supervisor.log()
    assert (supervisor.wait(), all(is_gone(pid) for pid in children)) == (1, True)
    assert supervisor.log().count("stopping: ") == 2  # each process for itself, once
    rows = Job.objects.filter(pk__in=[run.id for run in runs])
    assert [(row.state, row.attempts - row.free_attempts) for row in rows] == [("queued", 0)] * 2


def test_a_stop_while_its_processes_start_is_a_clean_one(start: Start) -> None:
    supervisor = start("--processes", "2")
    until(supervisor.children, every=0.01)
    supervisor.term()
    assert supervisor.wait() == 0, supervisor.log()
    assert supervisor.children() == []


def test_changed_code_restarts_the_processes(start: Start, tmp_path: Path) -> None:
    module = tmp_path / "more_jobs.py"
    code = "from jobs_app import job\n\n@job(name='version')\ndef version() -> str:\n    return {!r}\n"
    module.write_text(code.format("one"))
    supervisor = start("--reload", MORE_JOBS="more_jobs", PYTHONPATH=str(tmp_path))
    version = job(name="version")(lambda: None)

    def now() -> str:
        run = version.enqueue()
        finished(run)
        return run.result

    assert now() == "one"
    module.write_text(code.format("the second"))
    supervisor.wait_for_log("code changed; restarting")
    until(lambda: now() == "the second")
    supervisor.stop()


class Child:
    """A process as the supervisor sees it."""

    def __init__(self, exitcode: int | None = None) -> None:
        self.exitcode = exitcode
        self.killed = False

    def is_alive(self) -> bool:
        return self.exitcode is None

    def kill(self) -> None:
        self.killed = True


class Pipe:
    def __init__(self, said: bool) -> None:
        self.said = said

    def poll(self) -> bool:
        return self.said


@pytest.fixture
def supervisor() -> Supervisor:
    return Supervisor(WorkerOptions(), 1, StopSignals())


def test_a_process_that_does_not_come_up_is_killed(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "START_SECONDS", 5)
    long_ago = time.monotonic() - 6
    hanging, late, young = Child(), Child(), Child()
    supervisor._look_after(Place(process=hanging, ready=Pipe(False), born=long_ago))  # type: ignore[arg-type]
    supervisor._look_after(Place(process=late, ready=Pipe(True), born=long_ago))  # type: ignore[arg-type]
    supervisor._look_after(Place(process=young, ready=Pipe(False), born=time.monotonic()))  # type: ignore[arg-type]
    assert [child.killed for child in (hanging, late, young)] == [True, False, False]
    assert "did not come up within 5 s" in caplog.text


def test_a_process_that_dies_young_is_replaced_later_and_later(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place()
    waits = []
    for _ in range(8):
        place.process, place.born = Child(exitcode=1), time.monotonic()  # type: ignore[assignment]
        supervisor._bury(place)
        waits.append(round(place.not_before - time.monotonic()))
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    place.process, place.born = Child(exitcode=1), time.monotonic() - 60  # type: ignore[assignment]
    supervisor._bury(place)
    assert place.not_before <= time.monotonic()
    with caplog.at_level(logging.INFO):
        caplog.clear()
        place.process, place.born = Child(exitcode=0), time.monotonic()  # type: ignore[assignment]
        supervisor._bury(place)
    assert place.not_before <= time.monotonic()
    assert [record.levelname for record in caplog.records] == ["INFO"]
