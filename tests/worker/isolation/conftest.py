"""What the tests of isolation share: the zoo, for the length of a test, and workers that run it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from jobs_app.definitions import JobDefinition
from jobs_app.registry import registry
from tests.worker.harness import WorkerProcess
from tests.worker.isolation import zoo as zoo_jobs

# Taken out again: other tests have their own jobs.
ZOO_TYPES = [found.job_type for found in vars(zoo_jobs).values() if isinstance(found, JobDefinition)]
for _job_type in ZOO_TYPES:
    registry.unregister(_job_type.name)


@pytest.fixture
def zoo(registry_restored: None) -> Any:
    for job_type in ZOO_TYPES:
        registry.register(job_type)
    return zoo_jobs


class Keeper:
    """A worker that runs the zoo; its processes and all that they start carry a mark in their environment."""

    def __init__(self, start: Callable[..., WorkerProcess]) -> None:
        self.mark = f"ZOO_MARK_{uuid4().hex}"
        self._start = start

    def start(self, *arguments: str, **variables: str) -> WorkerProcess:
        given = {"MORE_JOBS": "tests.worker.isolation.zoo", "TIMEOUT_GRACE_SECONDS": "1", self.mark: "1", **variables}
        return self._start(*arguments, **given).wait_for_start()

    def marked(self) -> list[int]:
        """Processes with the mark; zombies have no environment."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self.mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
        return found

    def signal_all(self) -> None:
        """As a service manager does that stops everything it started."""
        for pid in self.marked():
            os.kill(pid, signal.SIGTERM)


@pytest.fixture
def keeper(start: Callable[..., WorkerProcess], zoo: Any) -> Keeper:
    return Keeper(start)
