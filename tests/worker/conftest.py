"""What the worker's tests share: the sample jobs, for the length of a test, and worker processes that end with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.worker import sample_jobs
from tests.worker.aside import SetAside
from tests.worker.harness import Ledger, WorkerProcess

SAMPLE_TYPES = SetAside(sample_jobs)


@pytest.fixture
def samples(registry_restored: None) -> Any:
    """The sample jobs, registered here as in the worker processes."""
    return SAMPLE_TYPES.register()


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    path = tmp_path / "ledger"
    monkeypatch.setenv("LEDGER", str(path))
    return Ledger(path)


@pytest.fixture
def start(
    child_environment: dict[str, str], samples: Any, ledger: Ledger, tmp_path: Path
) -> Iterator[Callable[..., WorkerProcess]]:
    """Start `runworker` with these arguments: a short lease, and quick to notice a silent worker."""
    numbers = itertools.count(1)
    processes: list[WorkerProcess] = []
    environment = {**child_environment, "DJANGO_SETTINGS_MODULE": "tests.worker.settings", "LEDGER": str(ledger.path)}

    def start_one(*arguments: str, wrapper: tuple[str, ...] = (), **variables: str) -> WorkerProcess:
        given = ("--poll", "0.1", "--lease", "2", *arguments)
        if "--with-scheduler" in arguments:
            variables.setdefault("SCHEDULER_ENABLED", "1")
        log = tmp_path / f"worker-{next(numbers)}.log"
        processes.append(WorkerProcess(given, {**environment, **variables}, log, list(wrapper)))
        return processes[-1]

    yield start_one
    for process in processes:
        process.end()
