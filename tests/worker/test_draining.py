"""Workers that an operator drains: they take nothing more, have all the time that their jobs need, and end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs_app.lifecycle import control
from jobs_app.models import Job, WorkerState
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, is_gone, outcomes, state

Start = Callable[..., WorkerProcess]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Jobs that hold wait for this file."""
    return tmp_path / "gate"


def is_draining(count: int = 1) -> Any:
    return until(lambda: WorkerState.objects.filter(draining=True).count() == count, every=0.02)


def test_a_drained_worker_lets_its_jobs_take_longer_than_the_grace_and_ends_with_0(
    start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--concurrency", "2", "--grace", "0").wait_for_start()
    run = samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    assert control.drain("all", "ann", "deploy")
    is_draining()
    late = samples.ping.enqueue()
    beaten = WorkerState.objects.get().seen_at
    until(lambda: WorkerState.objects.get().seen_at > beaten, every=0.02)  # a grace of nothing would be over
    assert (state(run), state(late)) == ("running", "queued")
    gate.touch()
    assert worker.wait() == 0
    assert (finished(run), outcomes(run)) == (["succeeded"], ["success"])
    assert (state(late), late.refresh().attempts) == ("queued", 0)
    assert worker.log().count("asked to drain") == 1
    assert "stopping: " not in worker.log()  # there is no hurry
    assert not WorkerState.objects.exists()


def test_a_worker_hears_of_it_between_the_beats_of_a_long_lease(start: Start) -> None:
    worker = start("--lease", "1h").wait_for_start()
    until(WorkerState.objects.exists, every=0.02)
    control.drain("all", "ann")
    assert worker.wait() == 0


def test_a_scheduler_beside_it_goes_on_until_the_last_job_has_ended(
    start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--with-scheduler").wait_for_start()
    samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    control.drain("all", "ann")
    worker.wait_for_log("asked to drain")
    is_draining()
    control.add_schedule("ping", "ann", name="soon", every=1)
    until(lambda: Job.objects.filter(job_type="ping").exists(), every=0.02)
    gate.touch()
    assert worker.wait() == 0
    assert not WorkerState.objects.exists()


def test_who_drains_and_loses_its_supervisor_gives_its_jobs_the_grace_and_no_more(
    start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    supervisor = start("--processes", "2", "--grace", "0.2")
    run = samples.hold.enqueue(until=str(gate))
    [began] = ledger.wait("began")
    control.drain("all", "ann")
    until(lambda: WorkerState.objects.filter(pid=began["pid"], draining=True).exists(), every=0.02)
    os.kill(supervisor.pid, 9)
    until(lambda: is_gone(began["pid"]), every=0.02)
    assert (state(run), outcomes(run)) == ("queued", ["interrupted"])


def test_an_idle_worker_that_is_drained_ends_at_once_and_the_others_go_on(start: Start, samples: Any) -> None:
    first, second = start("--name", "first").wait_for_start(), start("--name", "second").wait_for_start()
    until(lambda: WorkerState.objects.count() == 2, every=0.02)
    control.drain(WorkerState.objects.get(name="first"), "ann")
    assert first.wait() == 0
    assert finished(samples.ping.enqueue()) == ["succeeded"]
    assert [row.name for row in WorkerState.objects.all()] == ["second"]
    second.stop()


def test_a_signal_while_it_drains_gives_its_jobs_the_grace_and_no_more(
    start: Start, samples: Any, ledger: Ledger, gate: Path
) -> None:
    worker = start("--grace", "0.2").wait_for_start()
    run = samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    control.drain("all", "ann")
    is_draining()
    assert worker.process.poll() is None
    worker.term()
    assert worker.wait() == 0
    assert (state(run), outcomes(run)) == ("queued", ["interrupted"])
    assert worker.log().count("stopping: 1 job runs, it has up to 0.2 s") == 1


def test_a_supervisor_does_not_replace_who_was_drained_and_ends_with_the_last(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    supervisor = start("--processes", "2")
    supervisor.wait_for_log(" slots\n", 2)
    until(lambda: WorkerState.objects.count() == 2, every=0.02)
    one, other = WorkerState.objects.order_by("pk")
    control.drain(one, "ann")
    supervisor.wait_for_log("a worker process was drained; no new one takes its place")
    until(lambda: is_gone(one.pid), every=0.02)
    assert finished(*(samples.ping.enqueue() for _ in range(3))) == ["succeeded"] * 3
    assert {line["pid"] for line in ledger.lines("ran")} == {other.pid}
    os.kill(other.pid, 9)  # one that dies is another matter
    supervisor.wait_for_log(" slots\n", 3)
    until(lambda: WorkerState.objects.exclude(pk__in=[one.pk, other.pk]).count() == 1, every=0.02)
    control.drain("all", "ann")
    assert supervisor.wait() == 0
    assert supervisor.log().count("was drained; no new one") == 2
