"""Several worker processes as monitoring sees them: as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry

from jobs_app.health import Health, read_health
from jobs_app.metrics.child_files import ChildFiles
from jobs_app.metrics.exposure import Exposure
from jobs_app.metrics.gauges import database_gauges


class Member(Protocol):
    """One of the processes."""

    @property
    def number(self) -> int: ...
    @property
    def is_ready(self) -> bool: ...
    def is_alive(self) -> bool: ...


class Overview:
    def __init__(self, exposure: Exposure, *, with_scheduler: bool) -> None:
        self._exposure = exposure
        self._files = ChildFiles()
        self._registry = CollectorRegistry()
        self._registry.register(self._files)
        if with_scheduler:
            self._registry.register(database_gauges)
        self.sweep = self._files.sweep

    def environment(self) -> AbstractContextManager[None]:
        """In which each of them is started."""
        return self._files.environment()

    def health_file(self, number: int) -> Path:
        return self._files.folder / f"process-{number}.health"

    @contextmanager
    def shown(self, members: Sequence[Member]) -> Iterator[None]:
        try:
            with self._exposure.shown(lambda: self.health_of(members), self._registry):
                yield
        finally:
            self._files.close()

    def health_of(self, members: Sequence[Member]) -> Health:
        """One that stands still is reason enough to begin anew; one that is ready is enough to be ready."""
        found = [self._read(each.number) for each in members if each.is_alive() and each.is_ready]
        still = [text for health in found for text in health.still]
        if any(health.is_ready for health in found):
            return Health(still)
        return Health(still, [text for health in found for text in health.unready] or ["no process is at work yet"])

    def _read(self, number: int) -> Health:
        """One that ends in order takes its file along, before it is gone itself."""
        file = self.health_file(number)
        health = read_health(file)
        return health if file.exists() else Health(unready=["a process is about to end"])
