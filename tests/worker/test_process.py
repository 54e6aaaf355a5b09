"""`runworker` as a process: what it says, how it is stopped, what it leaves behind."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group

from jobs_app.models import Job, JobAttempt, WorkerState
from jobs_app.worker.process import in_words
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, children_of, finished, is_gone, outcomes, state

Start = Callable[..., WorkerProcess]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Jobs that hold wait for this file."""
    return tmp_path / "gate"


def holding(samples: Any, ledger: Ledger, gate: Path, count: int = 1, **options: Any) -> list[Any]:
    """Jobs that have begun and wait for the gate."""
    begun = len(ledger.lines("began"))
    runs = [samples.hold.options(**options).enqueue(until=str(gate)) for _ in range(count)]
    ledger.wait("began", begun + count)
    return runs


@pytest.mark.spec("S2.16", "S3.4", "S3.5", "A3.6")
def test_a_worker_says_what_it_serves_and_whose_line_is_whose(start: Start, samples: Any) -> None:
    runs = {
        word: (samples.asay if number % 2 else samples.say).enqueue(word=word)
        for number, word in enumerate(("ant", "bee", "cat", "dog", "eel", "fox"))
    }
    worker = start("--queues", "default,mail", "--exclude", "x", "--name", "w-1", "--with-scheduler").wait_for_start()
    finished(*runs.values())
    (row,) = WorkerState.objects.filter(kind="worker")
    short = row.id[: row.id.index("-")][-4:] + str(row.pid)[-4:]
    log = worker.stop()
    assert f"worker {short} ({row.id}) serves default, mail but not x with 10 slots\n" in log
    assert "Worker registered for: ping\n" in log
    assert "started; it reads code and sources every" in log
    said = re.findall(r"^\[[0-9:, -]+\] \[Worker (\S+)\] \[Job (\S+)\] WARNING said (\w+)$", log, re.MULTILINE)
    assert len(said) == log.count("said ") == 3 * 4 * 20 + 3 * 2 * 20
    assert set(said) == {(short, str(run.id), word) for word, run in runs.items()}
    assert not WorkerState.objects.exists()


@pytest.mark.spec("S2.20", "S3.R7")
def test_the_first_term_lets_running_jobs_finish(start: Start, samples: Any, ledger: Ledger, gate: Path) -> None:
    worker = start("--concurrency", "2").wait_for_start()
    runs = holding(samples, ledger, gate, 2)
    waiting = samples.ping.enqueue()
    worker.signal(signal.SIGINT)
    worker.term()  # at once: the same stop, said twice
    until(lambda: WorkerState.objects.filter(draining=True).exists(), every=0.02)
    assert {state(run) for run in runs} == {"running"}
    gate.touch()
    assert worker.wait() == 0
    assert finished(*runs) == ["succeeded"] * 2
    assert (state(waiting), waiting.refresh().attempts) == ("queued", 0)
    assert not Job.objects.filter(state="running").exists()
    assert "worker stopped: 2 succeeded\n" in worker.log()


@pytest.mark.parametrize(("count", "told"), [(1, "1 job runs, it has"), (2, "2 jobs run, they have")])
def test_a_stop_says_at_once_what_it_waits_for_and_for_how_long(
    count: int, told: str, start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--concurrency", "2", "--grace", "40").wait_for_start()
    holding(samples, ledger, gate, count)
    worker.signal(signal.SIGINT)
    worker.wait_for_log(f"stopping: {told} up to 40 s; TERM or Ctrl-C once more, after 2 s, releases")
    gate.touch()
    assert worker.wait() == 0
    assert worker.log().count("stopping: ") == 1


def test_a_worker_without_jobs_stops_without_a_word_about_them(start: Start) -> None:
    log = start().wait_for_start().stop()
    assert "stopping: " not in log
    assert "worker stopped: no jobs\n" in log


def test_what_became_of_the_jobs_is_told_in_words() -> None:
    counts = {"queued": 4, "lost": 1, "succeeded": 1, "failed": 2}
    assert in_words(counts) == "1 succeeded, 2 failed, 4 queued again, 1 lost"
    assert in_words({}) == "no jobs"


@pytest.mark.spec("A2.5", "S2.20", "S2.23", "S2.31")
@pytest.mark.parametrize("fate", ["release", "fail", "leave"])
def test_when_the_grace_is_over_only_the_own_jobs_are_given_up(
    fate: str, start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--queues", "default", "--grace", "0.2", "--on-shutdown", fate)
    other = start("--queues", "other")
    runs = holding(samples, ledger, gate, 2)
    (foreign,) = holding(samples, ledger, gate, queue="other")
    worker_id = Job.objects.get(pk=runs[0].id).worker_id
    worker.term()
    assert worker.wait() == 0
    assert is_gone(worker.pid)
    text = f"Worker shutdown (job interrupted on {worker_id})"
    if fate == "fail":
        assert [(run.refresh().status, run.error) for run in runs] == [("failed", text)] * 2
    elif fate == "release":
        rows = Job.objects.filter(pk__in=[run.id for run in runs])
        assert [(row.state, row.attempts - row.free_attempts) for row in rows] == [("queued", 0)] * 2
    if fate != "leave":
        assert [outcomes(run) for run in runs] == [["interrupted"]] * 2
    assert state(foreign) == "running"
    gate.touch()
    assert finished(foreign) == ["succeeded"]
    other.stop()


@pytest.mark.spec("S3.R7")
def test_a_term_after_two_seconds_forces_the_release_and_exits_1(
    start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--grace", "60", "--on-shutdown", "fail").wait_for_start()
    (run,) = holding(samples, ledger, gate)
    began = time.monotonic()
    while worker.process.poll() is None:
        worker.term()
        time.sleep(0.1)
        assert time.monotonic() - began < 30
    assert time.monotonic() - began > 2
    assert worker.wait() == 1
    row = Job.objects.get(pk=run.id)
    assert (row.state, row.attempts - row.free_attempts, outcomes(run)) == ("queued", 0, ["interrupted"])


def test_a_stop_is_heard_at_every_moment_of_the_start(start: Start, samples: Any, ledger: Ledger) -> None:
    runs = []
    for moment in range(0, 1200, 150):
        runs.append(samples.ping.enqueue())
        worker = start("--with-scheduler")
        time.sleep(moment / 1000)
        worker.term()
        code = worker.wait(15)
        # Before Python has come to our code the default of the system ends it, with nothing in its hands.
        assert code == 0 or (code == -signal.SIGTERM and " slots" not in worker.log()), worker.log()
        assert not Job.objects.filter(state="running").exists()
    for run in runs:
        row = Job.objects.filter(pk=run.id).first()
        assert row is None or row.attempts == row.free_attempts
    ours = JobAttempt.objects.filter(job_id__in=[run.id for run in runs], outcome="success")
    assert len(ledger.lines("ran")) == ours.count()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_it_works_and_stops_as_the_first_process_of_a_container(
    processes: str, start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    wrapper = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    worker = start("--processes", processes, wrapper=wrapper)
    try:
        worker.wait_for_start()
    except AssertionError:
        if "unshare:" in worker.log():
            pytest.skip(f"NOT SHOWN HERE: no PID namespace without more rights: {worker.log().strip()}")
        raise
    (run,) = holding(samples, ledger, gate)
    if processes == "1":
        assert ledger.lines("began")[0]["pid"] == 1
    (first,) = children_of(worker.pid)
    os.kill(first, signal.SIGTERM)
    until(lambda: WorkerState.objects.filter(draining=True).exists(), every=0.02)
    gate.touch()
    assert worker.wait() == 0, worker.log()
    assert finished(run) == ["succeeded"]
    assert is_gone(first)


def test_threads_that_handlers_leave_behind_do_not_keep_the_process(start: Start, samples: Any) -> None:
    worker = start("--max-jobs", "1")
    run = samples.leave_thread_behind.enqueue()
    assert worker.wait() == 0
    assert run.refresh().status == "succeeded"


def test_a_handler_may_fork(is_postgres: bool, start: Start, samples: Any, ledger: Ledger) -> None:
    """Its copy of a connection is never used, and a child that it forgets to end does not become a second worker."""
    worker = start("--concurrency", "1").wait_for_start()
    runs = [samples.fork_and_return.enqueue(), samples.ping.enqueue()]
    if is_postgres:  # SQLite itself may not be used in a process forked from one with threads: its mutexes stay locked
        runs.append(samples.fork_and_query.enqueue(name="x"))
    assert set(finished(*runs)) == {"succeeded"}
    if is_postgres:
        assert ledger.lines("ran")[-1]["code"] == 0
        assert sorted(Group.objects.values_list("name", flat=True)) == ["x after", "x before", "x child"]
    assert {line["pid"] for line in ledger.lines("ran")} == {worker.pid}
    until(lambda: all(is_gone(pid) for pid in children_of(worker.pid)), every=0.02)
    log = worker.stop()
    assert "ERROR" not in log
    assert "does not answer" not in log
