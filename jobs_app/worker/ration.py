"""How often something is looked at as a whole, where an old open transaction or a large backlog makes that slow."""

from __future__ import annotations

import time
from collections.abc import Callable

CHEAP_SECONDS = 0.005  # what takes no longer is never rationed
SHARE = 0.05  # of the time, for each kind of look that does: a claimer's at its lanes, say, and its recovery


class Ration:
    """Shared by all who look: their looks together have that share of a process's time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ended_at = float("-inf")
        self._cost = 0.0  # of the last look

    def allows(self) -> bool:
        return self._cost <= CHEAP_SECONDS or self._clock() - self._ended_at >= self._cost / SHARE

    def spent(self, seconds: float) -> None:
        self._cost, self._ended_at = seconds, self._clock()
