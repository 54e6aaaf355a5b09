"""Workers that die, stop or freeze in the middle of a job: it runs again, and one outcome stands."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from jobs_app.models import Job, JobRun, WorkerState
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, outcomes

Start = Callable[..., WorkerProcess]


@pytest.mark.spec("A1.4", "S1.2", "S1.9", "S2.18", "S2.22", "S2.32", "S1.R7")
def test_a_killed_workers_job_is_run_by_another_within_its_lease_and_five_seconds(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    workers = [start(RECOVER_SECONDS="4").wait_for_start() for _ in range(2)]
    run = samples.kill_once.enqueue()
    (first,) = ledger.wait("began")
    until(lambda: any(worker.process.poll() == -signal.SIGKILL for worker in workers), every=0.01)
    died = time.monotonic()
    ledger.wait("began", 2)
    assert time.monotonic() - died < 2 + 5
    assert finished(run) == ["succeeded"]
    assert (run.attempts, outcomes(run), run.result) == (2, ["lost", "success"], "half")
    assert [line["attempt"] for line in ledger.lines()] == [1, 2]
    assert len({line["pid"] for line in ledger.lines()}) == 2
    survivor = next(worker for worker in workers if worker.process.poll() is None)
    assert "recovered jobs of silent workers: 1 due again, 0 failed" in survivor.stop()
    assert WorkerState.objects.filter(pid=first["pid"]).exists()  # stays visible as lost


@pytest.mark.spec("S1.R2", "S2.18")
def test_a_job_that_kills_its_worker_each_time_fails_after_its_last_attempt(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    supervisor = start("--processes", "2", "--lease", "1")
    run = samples.kill_worker.enqueue()
    assert finished(run) == ["failed"]
    assert outcomes(run) == ["lost"] * 3
    assert [line["attempt"] for line in ledger.lines("began")] == [1, 2, 3]
    stored = JobRun.objects.get(pk=run.id)
    assert (stored.done_reason, stored.attempts) == ("lost", 3)
    assert stored.error.startswith("Worker crashed or timed out (stalled job recovery, was on ")
    assert finished(samples.ping.enqueue()) == ["succeeded"]
    assert "a worker process ended with code -9" in supervisor.stop()


def put_to_sleep(worker: WorkerProcess) -> None:
    """SIGSTOP, but not inside a transaction: its locks would put everybody else to sleep, or its jobs out of reach."""
    worker.signal(signal.SIGSTOP)
    while _is_inside_a_transaction():
        worker.signal(signal.SIGCONT)
        time.sleep(0.01)
        worker.signal(signal.SIGSTOP)


def _is_inside_a_transaction() -> bool:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
            )
            return bool(cursor.fetchone()[0])
    with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=0.5, isolation_level=None)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


@pytest.mark.spec("A1.4", "S1.8", "S1.9")
def test_a_worker_that_sleeps_through_its_lease_is_refused_when_it_wakes(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    sleeper = start().wait_for_start()
    runs = [samples.hold.enqueue(until=str(gate)) for _ in range(5)]
    ledger.wait("began", 5)
    put_to_sleep(sleeper)
    other = start().wait_for_start()
    ledger.wait("began", 10)
    sleeper.signal(signal.SIGCONT)
    sleeper.wait_for_log("lost its lease while it runs here", 5)
    assert set(Job.objects.values_list("state", "attempts")) == {("running", 2)}
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 5
    ledger.wait("ended", 10)
    sleeper.wait_for_log("its success is not recorded", 5)
    assert {run.result for run in runs} == {f"by {other.pid}"}
    assert {tuple(outcomes(run)) for run in runs} == {("lost", "success")}
    assert "lost its lease" not in other.stop()
    assert "worker stopped: 5 lost" in sleeper.stop()


def test_a_handler_that_holds_the_gil_for_longer_than_a_beat_keeps_its_lease(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    workers = [start("--lease", "6").wait_for_start() for _ in range(2)]
    run = samples.hold_gil.enqueue(seconds=2.5)
    assert finished(run) == ["succeeded"]
    assert (run.attempts, len(ledger.lines("began"))) == (1, 1)
    for worker in workers:
        assert "lost its lease" not in worker.stop()


def test_a_handler_that_holds_the_gil_for_longer_than_its_lease_has_one_outcome(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    workers = {worker.pid: worker for worker in (start("--lease", "1").wait_for_start() for _ in range(2))}
    run = samples.hold_gil.enqueue(seconds=3.5)
    (first,) = ledger.wait("began")
    assert finished(run) == ["succeeded"]
    ledger.wait("ended", 2 if run.attempts == 2 else 1)
    if run.attempts == 2:
        second = next(line["pid"] for line in ledger.lines("began") if line["attempt"] == 2)
        assert (outcomes(run), run.result) == (["lost", "success"], f"by {second}")
        workers[first["pid"]].wait_for_log("its success is not recorded")
    else:  # it froze in the middle of a write, and so froze SQLite for the others too
        assert (connection.vendor, outcomes(run)) == ("sqlite", ["success"])
    for worker in workers.values():
        worker.stop()


@pytest.mark.spec("S4.R3")
def test_a_kill_between_the_handlers_write_and_the_commit_leaves_neither_row_nor_end(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    worker = start().wait_for_start()
    run = samples.pay.enqueue(name="bill", until=str(gate))
    (wrote,) = ledger.wait("wrote")
    os.kill(wrote["pid"], signal.SIGKILL)
    worker.wait()
    assert not Group.objects.exists()
    assert run.refresh().status == "running"
    gate.touch()
    start().wait_for_start()
    assert finished(run) == ["succeeded"]
    assert list(Group.objects.values_list("name", flat=True)) == ["bill 2"]
    assert outcomes(run) == ["lost", "success"]
