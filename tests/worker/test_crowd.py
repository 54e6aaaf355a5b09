"""Many processes on one queue: every job once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jobs_app.models import Job, JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess

Start = Callable[..., WorkerProcess]


def processes(ledger: Ledger) -> set[str]:
    return {line.split()[1] for line in ledger.text().splitlines()}


@pytest.mark.spec("S1.7", "S1.8", "S2.23", "S0.37")
def test_eight_processes_drain_a_queue_and_run_every_job_once(
    is_postgres: bool, start: Start, samples: Any, ledger: Ledger
) -> None:
    at_least = 20_000 if is_postgres else 2_000
    supervisors = [start("--processes", "4", "--lease", "30") for _ in range(2)]
    for supervisor in supervisors:
        supervisor.wait_for_log(" slots\n", 4)
    thousands = itertools.count(step=1000)

    def is_enough() -> bool:
        """A thousand more: one process may drain several of these before another looks."""
        first = next(thousands)
        samples.noop.enqueue_many([{"n": n} for n in range(first, first + 1000)])
        return first + 1000 >= at_least and len(processes(ledger)) > 1

    until(is_enough, seconds=120, every=0)
    count = next(thousands)
    until(lambda: not Job.objects.exists(), seconds=120, every=0.2)
    logs = [supervisor.stop() for supervisor in supervisors]
    ran = Counter(line.split()[0] for line in ledger.text().splitlines())
    assert len(ran) == count
    assert set(ran.values()) == {1}
    assert JobRun.objects.filter(state="succeeded", attempts=1).count() == count
    assert JobAttempt.objects.count() == count
    for log in logs:
        assert "locked" not in log
        assert "ERROR" not in log
        assert "WARNING" not in log
