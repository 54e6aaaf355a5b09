"""What a worker was told when it started, and what it is told by the settings in force where it was told nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs_app.conf import get_settings


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Times are seconds; None: as the settings say, also when an operator changes them while the worker runs."""

    queues: Sequence[str] = ()
    excluded: Sequence[str] = ()
    concurrency: int = 10
    poll: float | None = None
    lease: float | None = None
    grace: float | None = None
    on_shutdown: str | None = None  # None: as the preset of each job type says, else the setting
    recover_every: float | None = None
    listen: bool = True
    max_jobs: int | None = None
    max_rss: int | None = None  # bytes
    name: str = ""
    once: bool = False
    counts: bool = False  # for Prometheus

    @property
    def poll_seconds(self) -> float:
        return get_settings().worker_poll_seconds if self.poll is None else self.poll

    @property
    def lease_seconds(self) -> float:
        return get_settings().lease_seconds if self.lease is None else self.lease

    @property
    def grace_seconds(self) -> float:
        return get_settings().grace_seconds if self.grace is None else self.grace

    @property
    def recover_seconds(self) -> float:
        return get_settings().recover_seconds if self.recover_every is None else self.recover_every
