"""What a machine or a cluster is to run, and with which words it is started."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from jobs_app.conf import get_settings

SIGN_OFF_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class Plan:
    name: str  # in front of everything that is made
    queues: tuple[str, ...]
    concurrency: int | None  # None: as the settings say when the worker starts
    metrics_port: int
    grace: int  # seconds; written into the command, since the time to stop is made of it and must fit
    replicas: int

    @property
    def stop_seconds(self) -> int:
        """When a process that was asked to stop may be killed, and not before: its jobs end, what they counted is
        scraped for the last time, and it signs off."""
        return self.grace + ceil(get_settings().final_scrape_seconds) + SIGN_OFF_SECONDS

    def worker(self, port: object) -> list[str]:
        """What follows `manage.py`."""
        words = ["jobs", "worker", "--metrics-port", str(port), "--grace", str(self.grace)]
        if self.queues:
            words += ["--queues", ",".join(self.queues)]
        if self.concurrency:
            words += ["--concurrency", str(self.concurrency)]
        return words

    def scheduler(self, port: object) -> list[str]:
        return ["jobs", "scheduler", "--metrics-port", str(port)]
