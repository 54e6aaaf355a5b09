"""A worker that runs follows what operators change of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, WorkerState
from jobs_app.worker.flight import board
from jobs_app.worker.loop import Worker, WorkerOptions
from jobs_app.worker.supervisor import _learn_grace
from tests.lifecycle.rows import one_running
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished

pytestmark = pytest.mark.django_db(transaction=True)

Start = Callable[..., WorkerProcess]


@pytest.fixture
def follower(
    child_environment: dict[str, str], samples: Any, ledger: Ledger, tmp_path: Path
) -> Iterator[WorkerProcess]:
    """`runworker` that was told no lease of its own."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.worker.settings", "LEDGER": str(ledger.path)}
    process = WorkerProcess(("--concurrency", "20"), {**child_environment, **settings}, tmp_path / "log", [])
    yield process.wait_for_start()
    process.end()


@pytest.mark.spec("S1.25")
def test_a_worker_process_claims_with_the_lease_that_was_changed_meanwhile(
    follower: WorkerProcess, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    first = samples.hold.enqueue(until=str(gate))
    ledger.wait("began")
    assert 0 < _lease_left(first.id) <= 30

    control.change_setting("lease_seconds", 600, actor="ann", reason="slow network")
    runs = [first]

    def is_followed() -> bool:
        runs.append(samples.hold.enqueue(until=str(gate)))
        until(lambda: Job.objects.filter(pk=runs[-1].id, state="running").exists(), every=0.02)
        return _lease_left(runs[-1].id) > 500

    until(is_followed, every=0.3, seconds=5)
    gate.touch()
    assert set(finished(*runs)) == {"succeeded"}
    assert {run.attempts for run in runs} == {1}
    follower.stop()


def _lease_left(run_id: Any) -> float:
    lease = Job.objects.values_list("lease_expires_at", flat=True).get(pk=run_id)
    return (lease - database_now(connection)).total_seconds()


def test_a_shorter_lease_is_beaten_at_once_and_a_longer_one_after_two_beats(settings: Any) -> None:
    beat = Worker(WorkerOptions()).beat

    def every() -> list[float]:
        found = [beat._every()]
        for _ in range(2):
            beat._beat()
            found.append(WorkerState.objects.get().beat_seconds)
        return found

    assert every() == [10, 10, 10]
    settings.JOBS = {"LEASE_SECONDS": 6}
    assert every() == [2, 2, 2]
    settings.JOBS = {"LEASE_SECONDS": 90}
    assert every() == [2, 2, 30]


def test_a_lease_of_its_own_follows_nobody(settings: Any) -> None:
    options = WorkerOptions(lease=60)
    settings.JOBS = {"LEASE_SECONDS": 6}
    assert (options.lease_seconds, Worker(options).beat._every()) == (60, 20)


def test_what_runs_gets_the_lease_in_force_with_the_next_beat(settings: Any) -> None:
    @job
    def work() -> None: ...

    worker = Worker(WorkerOptions())
    flight = board(one_running(job_type="work"), worker="w", worker_id="w-1", lease=30)
    worker.hangar.add([flight])
    settings.JOBS = {"LEASE_SECONDS": 600}
    worker.beat._beat()
    lease = Job.objects.get(pk=flight.job.id).lease_expires_at
    assert lease is not None
    assert lease - database_now(connection) > timedelta(seconds=500)
    assert flight.lease == 600


def test_a_supervisor_knows_the_grace_that_its_workers_have() -> None:
    options = WorkerOptions()
    control.change_setting("grace_seconds", 120, actor="ann")
    _learn_grace()
    assert options.grace_seconds == 120
