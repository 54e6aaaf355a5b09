"""Which job types a worker may claim now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs_app.registry import JobType, registry
from jobs_app.runtime.enabled import is_enabled

ASK_EVERY_SECONDS = 1.0  # whether a type is enabled may be a question to a database


@dataclass
class ServedTypes:
    """The names of the job types that may be claimed now; what is unknown, disabled or remote stays queued, unspent."""

    is_loop_blocked: Callable[[], bool]  # then async handlers would only wait
    _enabled: list[JobType] = field(default_factory=list)
    _asked: float = float("-inf")

    def __call__(self) -> list[str]:
        if time.monotonic() - self._asked >= ASK_EVERY_SECONDS:
            self._enabled = [job_type for job_type in registry if not job_type.remote and is_enabled(job_type)]
            self._asked = time.monotonic()
        skips_async = self.is_loop_blocked()
        return [job_type.name for job_type in self._enabled if not (skips_async and job_type.runs_in_loop)]
