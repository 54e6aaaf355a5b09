"""How long jobs of a type take, and so how many may be claimed before a thread is free for them."""

from __future__ import annotations

WEIGHT = 0.1  # of the newest duration in the mean
SEEN_ENOUGH = 5
SHORT_SECONDS = 0.05  # types below this mean are claimed ahead, so that no thread waits for a claim
CHUNK_SECONDS = 0.002
# Below this a handler mostly computes, and Python computes in one thread at a time: several would only take the
# interpreter from each other (measured, 20 us a job). So one thread takes many of them, and the others rest.
TINY_SECONDS = 0.0002
TINY_CHUNK_SECONDS = 0.01
MOST_PER_CHUNK = 500
OWN_SECONDS = 0.00004  # what the worker itself does for each
AHEAD_SECONDS = 0.1  # what is claimed ahead starts within this
LEAST_AHEAD = 5


class Pace:
    """Measured by the finisher, of a new type by the threads that run it; read by the claimer."""

    def __init__(self) -> None:
        self._mean: dict[str, float] = {}
        self._seen: dict[str, int] = {}
        self._recent: float | None = None  # the mean over all short types

    def note(self, job_type: str, seconds: float, count: int = 1) -> None:
        """So many jobs took `seconds` together."""
        weight = 1 - (1 - WEIGHT) ** count
        mean = self._mean.get(job_type, seconds / count)
        # The first ones load what the others find loaded, and say little about them: of those the quickest counts.
        is_known = self.is_known(job_type)
        self._mean[job_type] = mean + weight * (seconds / count - mean) if is_known else min(mean, seconds / count)
        self._seen[job_type] = self._seen.get(job_type, 0) + count
        if self.is_short(job_type):
            recent = seconds / count if self._recent is None else self._recent
            self._recent = recent + weight * (seconds / count - recent)

    def is_known(self, job_type: str) -> bool:
        return self._seen.get(job_type, 0) >= SEEN_ENOUGH

    def is_short(self, job_type: str) -> bool:
        return self.is_known(job_type) and self._mean[job_type] < SHORT_SECONDS

    def is_tiny(self, job_type: str) -> bool:
        return self.is_short(job_type) and self._mean[job_type] < TINY_SECONDS

    def short_types(self, job_types: list[str]) -> list[str]:
        return [job_type for job_type in job_types if self.is_short(job_type)]

    def chunk(self, job_type: str, waiting: int, threads: int) -> int:
        """How many of a type one thread takes at a time, when so many wait for so many threads."""
        if not self.is_short(job_type):
            return 1
        mean = max(self._mean[job_type], 1e-6)
        if self.is_tiny(job_type):
            return min(MOST_PER_CHUNK, int(TINY_CHUNK_SECONDS / mean))
        return max(1, min(int(CHUNK_SECONDS / mean), -(-waiting // threads)))

    def ahead(self, threads: int) -> int:
        """How many short jobs may wait in this process: what so many threads do in a moment."""
        if self._recent is None:
            return LEAST_AHEAD
        at_once = 1 if self._recent < TINY_SECONDS else threads
        return max(LEAST_AHEAD, int(AHEAD_SECONDS / (self._recent / at_once + OWN_SECONDS)))
