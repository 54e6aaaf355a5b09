"""What a machine or a cluster is to run, and with which words it is started."""

from __future__ import annotations

from dataclasses import dataclass

# After its last job a process can still be scraped, so that no count is lost, and then signs off.
FINAL_SCRAPE_SECONDS = 35
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
        """When a process that was asked to stop may be killed, and not before."""
        return self.grace + FINAL_SCRAPE_SECONDS + SIGN_OFF_SECONDS

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
