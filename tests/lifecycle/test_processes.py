"""Eight real processes share one table: no job twice, none lost, no lock error."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.models import Job, JobAttempt, JobRun
from tests.lifecycle.rows import new_job

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 8


@pytest.mark.spec("S2.23", "A1.5")
def test_eight_processes_claim_every_job_once(child_environment: dict[str, str], is_postgres: bool) -> None:
    count, batch = (20_000, 100) if is_postgres else (2_000, 10)
    queues = ["default", "mail", "other"]
    enqueue([new_job(queue=queues[n % 3], priority=n % 2) for n in range(count)])
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.lifecycle.claiming_process", f"worker-{number}", str(batch)],
            cwd=ROOT,
            env=child_environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120) for process in processes]
    assert [(process.returncode, errors) for process, (_, errors) in zip(processes, told, strict=True)] == [
        (0, "") for _ in range(PROCESSES)
    ]
    claimed = Counter(UUID(line) for output, _ in told for line in output.split())
    assert len(claimed) == count
    assert set(claimed.values()) == {1}
    assert not Job.objects.exists()
    assert JobRun.objects.filter(state="succeeded", attempts=1).count() == count
    assert JobAttempt.objects.filter(number=1, outcome="success").count() == count
    assert sum(1 for output, _ in told if output) > 1
