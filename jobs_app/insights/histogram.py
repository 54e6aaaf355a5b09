"""How long runs take, as a few bars: lengths that people think in, each with the runs that took so long."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from jobs_app import durations

# Seconds, each about two or three times the one before, so that a second and an hour fit into one picture.
EDGES = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600, 7200, 14400, 28800, 57600, 86400),
)


class Bar(NamedTuple):
    low: float  # seconds, not in it
    high: float | None  # in it; None: no end
    runs: int

    @property
    def label(self) -> str:
        if self.high is None:
            return f"> {durations.rough(self.low)}"
        return f"≤ {durations.rough(self.high)}"


def histogram(seconds: Sequence[float]) -> list[Bar]:
    """From the shortest to the longest, with the empty bars between them."""
    places = Counter(bisect_left(EDGES, each) for each in seconds)
    if not places:
        return []
    return [_bar(place, places[place]) for place in range(min(places), max(places) + 1)]


def _bar(place: int, runs: int) -> Bar:
    low = EDGES[place - 1] if place else 0.0
    return Bar(low, EDGES[place] if place < len(EDGES) else None, runs)
