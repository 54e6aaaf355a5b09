"""How long jobs of a type take, and so how many may be claimed before a thread is free for them."""

from __future__ import annotations

import time

WEIGHT = 0.1  # of the newest duration in the mean
SEEN_ENOUGH = 5
SHORT_SECONDS = 0.005  # types below this mean are claimed ahead and run several in a row per thread
CHUNK_SECONDS = 0.002
MOST_PER_CHUNK = 50
AHEAD_SECONDS = 0.05  # what is claimed ahead starts within this
MOST_AHEAD = 1000
LEAST_AHEAD = 50


class Pace:
    """Measured by the finisher, read by the claimer."""

    def __init__(self) -> None:
        self._mean: dict[str, float] = {}
        self._seen: dict[str, int] = {}
        self._rate = 0.0
        self._since = time.monotonic()
        self._count = 0

    def note(self, job_type: str, seconds: float) -> None:
        mean = self._mean.get(job_type, seconds)
        self._mean[job_type] = mean + WEIGHT * (seconds - mean)
        self._seen[job_type] = self._seen.get(job_type, 0) + 1
        self._count += 1

    def is_short(self, job_type: str) -> bool:
        return self._seen.get(job_type, 0) >= SEEN_ENOUGH and self._mean[job_type] < SHORT_SECONDS

    def short_types(self, job_types: list[str]) -> list[str]:
        return [job_type for job_type in job_types if self.is_short(job_type)]

    def chunk(self, job_type: str) -> int:
        """How many of a type one thread takes at a time."""
        if not self.is_short(job_type):
            return 1
        return max(1, min(MOST_PER_CHUNK, int(CHUNK_SECONDS / max(self._mean[job_type], 1e-6))))

    def ahead(self) -> int:
        """How many short jobs may wait in this process, by the rate of the last moments."""
        elapsed = time.monotonic() - self._since
        if elapsed > 0.1:
            self._rate, self._since, self._count = self._count / elapsed, time.monotonic(), 0
        return max(LEAST_AHEAD, min(MOST_AHEAD, int(self._rate * AHEAD_SECONDS)))
