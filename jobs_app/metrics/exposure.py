"""How a worker or scheduler shows itself to monitoring: a port, a file, both or neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandError
from prometheus_client import REGISTRY
from prometheus_client.registry import Collector

from jobs_app.conf import get_settings
from jobs_app.metrics.server import Port, serving
from jobs_app.runtime.pulse import Examine, HealthFile


@dataclass(frozen=True, kw_only=True)
class Exposure:
    port: int | None = None
    host: str = "0.0.0.0"
    heartbeat_file: Path | None = None
    is_hurried: Callable[[], bool] = lambda: False  # asked to stop for the second time

    def __bool__(self) -> bool:
        return self.port is not None or self.heartbeat_file is not None

    @contextmanager
    def shown(self, examine: Examine, registry: Collector = REGISTRY) -> Iterator[None]:
        """While this lasts. Who ends in order leaves time for a last scrape."""
        with ExitStack() as stack:
            if self.heartbeat_file is not None:
                stack.enter_context(_written(self.heartbeat_file, examine))
            port = Port(registry, examine)
            if self.port is not None:
                stack.enter_context(serving(port, self.host, self.port))
            yield
            port.wait_for_last_scrape(get_settings().final_scrape_seconds, self.is_hurried)


@contextmanager
def _written(path: Path, examine: Examine) -> Iterator[None]:
    file = HealthFile(path, examine)
    try:
        file.start()
    except OSError as error:
        text = f"the heartbeat file {path} cannot be written: {error.strerror}. Give another --heartbeat-file."
        raise CommandError(text) from None
    try:
        yield
    finally:
        file.stop()
