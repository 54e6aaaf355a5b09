"""What the tests of isolation share: the zoo, a crew with warm children, and workers, here or in their own process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from jobs_app.definitions import JobDefinition
from jobs_app.worker.crew import Crew
from jobs_app.worker.flight import Flight, Report
from jobs_app.worker.loop import Worker
from jobs_app.worker.pace import Pace
from tests.waiting import until
from tests.worker.aside import SetAside
from tests.worker.flights import flight_of
from tests.worker.harness import Ledger, WorkerProcess, working
from tests.worker.isolation import zoo as zoo_jobs

ZOO_TYPES = SetAside(zoo_jobs)


@pytest.fixture
def zoo(registry_restored: None) -> Any:
    return ZOO_TYPES.register()


@pytest.fixture(scope="package")
def ledger_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all, because children that stay warm from test to test write there; and what else they need to start."""
    path = tmp_path_factory.mktemp("zoo") / "ledger"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DJANGO_SETTINGS_MODULE", "tests.worker.settings")
        environment.setenv("MORE_JOBS", "tests.worker.isolation.zoo")
        environment.setenv("LEDGER", str(path))
        yield path


@pytest.fixture
def ledger(ledger_path: Path) -> Ledger:
    ledger_path.unlink(missing_ok=True)
    return Ledger(ledger_path)


class Ground:
    """A crew without a worker and a database: flights take off, and their reports come in."""

    def __init__(self, size: int) -> None:
        self.landed: list[tuple[Flight, Report | None]] = []
        self.crew = Crew(size, Pace(), lambda flight, report: self.landed.append((flight, report)))

    def launch(self, definition: JobDefinition[..., Any], **payload: Any) -> Flight:
        flight = flight_of(definition, payload=json.dumps(payload), max_attempts=definition.job_type.max_attempts)
        usual = definition.job_type.timeout
        flight.timeout = None if callable(usual) else usual
        self.crew.launch([flight])
        return flight

    def report(self, flight: Flight) -> Report:
        (report,) = until(lambda: [report for known, report in self.landed if known is flight], every=0.01)
        assert report is not None
        return report

    def fly(self, definition: JobDefinition[..., Any], **payload: Any) -> Report:
        return self.report(self.launch(definition, **payload))

    def result(self, definition: JobDefinition[..., Any], **payload: Any) -> Any:
        ended = self.fly(definition, **payload).ended
        assert ended.state == "succeeded", ended
        return json.loads(ended.result or "null")


@pytest.fixture(scope="package")
def warm_ground(ledger_path: Path) -> Iterator[Ground]:
    ground = Ground(4)
    yield ground
    ground.crew.stop()


@pytest.fixture
def ground(warm_ground: Ground, ledger: Ledger, zoo: Any) -> Ground:
    """With children that earlier tests have warmed."""
    return warm_ground


@pytest.fixture
def narrow(ledger: Ledger, zoo: Any) -> Iterator[Ground]:
    """With room for one, and a child of its own."""
    ground = Ground(1)
    yield ground
    ground.crew.stop()


class Keeper:
    """Workers that run the zoo; their children and all that those start carry a mark in their environment."""

    def __init__(self, start: Callable[..., WorkerProcess], mark: str) -> None:
        self._start = start
        self._mark = mark

    def here(self, **options: Any) -> AbstractContextManager[Worker]:
        """In this process."""
        return working(**{"concurrency": 10, "lease": 2} | options)

    def start(self, *arguments: str, **variables: str) -> WorkerProcess:
        return self._start(*arguments, **variables).wait_for_start()

    def marked(self) -> list[int]:
        """Processes with the mark; zombies have no environment."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self._mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
        return found

    def signal_all(self) -> None:
        """As a service manager does that stops everything it started."""
        for pid in self.marked():
            os.kill(pid, signal.SIGTERM)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    mark = f"ZOO_MARK_{uuid4().hex}"
    monkeypatch.setenv(mark, "1")
    return mark


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch, settings: Any) -> float:
    """Between the deadline of a handler and its end by force, here and in children that start from now on."""
    monkeypatch.setenv("TIMEOUT_GRACE_SECONDS", "0.5")
    settings.JOBS = {"TIMEOUT_GRACE_SECONDS": 0.5}
    return 0.5


@pytest.fixture
def keeper(
    mark: str,
    short_grace: float,
    child_environment: dict[str, str],
    start: Callable[..., WorkerProcess],
    zoo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Keeper:
    monkeypatch.setenv("DATABASE_URL", child_environment["DATABASE_URL"])
    return Keeper(start, mark)
