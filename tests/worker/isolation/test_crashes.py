"""Processes that die under their jobs, jobs that are stopped by force, and workers that leave children behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from jobs_app.models import Job, JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, finished, is_gone, outcomes
from tests.worker.isolation.conftest import Keeper
from tests.worker.isolation.test_limits import bystanders


def test_a_process_that_ends_is_a_crashed_attempt_that_tells_how(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    with keeper.here(), bystanders(zoo, samples, ledger, tmp_path / "gate"):
        runs = [zoo.leave.enqueue(how=how) for how in ("exit", "self", "guard")]
        assert finished(*runs) == ["failed"] * 3
    stored = [JobRun.objects.get(pk=run.id) for run in runs]
    assert {(run.outcome, run.done_reason) for run in stored} == {("crashed", "exhausted")}
    assert [run.error for run in stored] == [
        "the process ended with exit code 3",
        "the process was killed by SIGKILL; the system does that when memory runs out",
        "the process is gone",
    ]
    assert keeper.marked() == []


def test_a_job_that_crashes_three_times_is_quarantined(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    with keeper.here():
        run = zoo.segfault.enqueue()
        assert finished(run) == ["failed"]
        assert finished(zoo.who.enqueue(), samples.ping.enqueue()) == ["succeeded"] * 2
    stored = JobRun.objects.get(pk=run.id)
    assert (outcomes(run), stored.done_reason, stored.attempts) == (["crashed"] * 3, "quarantined", 3)
    assert stored.error == "the process was killed by SIGSEGV"
    assert set(JobAttempt.objects.filter(job_id=run.id).values_list("log_excerpt", flat=True)) == {"about to fall"}
    assert len({line["pid"] for line in ledger.lines("began")}) == 3
    log = capfd.readouterr().err
    assert "Segmentation fault" in log
    assert "zoo.py" in log  # where


def test_a_process_job_stops_when_it_is_asked_to_and_is_killed_when_it_is_aborted(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    with keeper.here(), bystanders(zoo, samples, ledger, tmp_path / "gate"):
        polite, deaf = zoo.stop_when_asked.enqueue(), zoo.never_ask.enqueue()
        ledger.wait("began", 5)
        Job.objects.filter(pk__in=[polite.id, deaf.id]).update(cancel_requested=True)
        Job.objects.filter(pk=deaf.id).update(abort_requested=True)
        assert finished(polite, deaf) == ["cancelled"] * 2
        (killed,) = [line["pid"] for line in ledger.lines("began") if line["job"] == str(deaf.id)]
        assert is_gone(killed)
    stored = JobRun.objects.get(pk=deaf.id)
    assert (stored.outcome, stored.done_reason) == ("cancelled", "cancelled")
    assert stored.error == "stopped by force: the process was killed"
    assert JobRun.objects.get(pk=polite.id).error == "asked to stop"
    assert keeper.marked() == []


def test_a_killed_worker_leaves_no_process_behind(keeper: Keeper, zoo: Any, ledger: Ledger, tmp_path: Path) -> None:
    """Not even what its jobs started and hid: the guards see to it."""
    worker = keeper.start()
    hidden, plain = zoo.fork.enqueue(then="hang"), zoo.stay.enqueue(until=str(tmp_path / "gate"))
    (forked,) = ledger.wait("forked")
    ledger.wait("began")
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    until(lambda: all(is_gone(pid) for pid in [forked["pid"], *forked["pids"]]), seconds=5, every=0.02)
    until(lambda: not keeper.marked(), seconds=5, every=0.02)
    (tmp_path / "gate").touch()
    keeper.start()
    assert finished(hidden, plain) == ["failed", "succeeded"]
    assert outcomes(plain) == ["lost", "success"]


@pytest.mark.parametrize(
    ("fate", "state", "outcome"), [("release", "retrying", "interrupted"), ("fail", "failed", "interrupted")]
)
def test_what_outlives_the_grace_of_a_stopping_worker_is_killed_and_then_reported(
    keeper: Keeper, zoo: Any, ledger: Ledger, fate: str, state: str, outcome: str
) -> None:
    worker = keeper.start("--grace", "0.3", "--on-shutdown", fate)
    run = zoo.never_ask.enqueue()
    (began,) = ledger.wait("began")
    worker.term()
    assert worker.wait() == 0, worker.log()
    assert is_gone(began["pid"])
    assert (run.refresh().status, outcomes(run)) == (state, [outcome])
    assert keeper.marked() == []


def test_a_stopping_worker_waits_for_its_processes(keeper: Keeper, zoo: Any, ledger: Ledger, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    worker = keeper.start()
    run = zoo.stay.enqueue(until=str(gate))
    ledger.wait("began")
    worker.term()
    until(lambda: not Job.objects.exclude(worker_id="").exclude(pk=run.id).exists())
    gate.touch()
    assert worker.wait() == 0
    assert finished(run) == ["succeeded"]
    assert keeper.marked() == []
