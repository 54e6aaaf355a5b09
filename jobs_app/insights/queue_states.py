"""One word for how a queue does, the same on every page. Pure: what was read is judged here."""

from __future__ import annotations

from jobs_app.insights.counts import QueueCounts

PAUSED = "paused"  # itself, or with everything
UNSERVED = "unserved"  # no live worker takes its jobs, whether or not one waits
BEHIND = "behind"
GROWING = "growing"
ACTIVE = "active"
IDLE = "idle"

LONG_WAIT = 120.0  # seconds that the oldest one that could start may wait
MANY_WAIT = 100  # of which it matters whether they become more
GROWS_BY = 0.25  # of what waits, in an hour


def state_of(counts: QueueCounts, *, is_paused: bool, is_served: bool, wait: float | None, trend: float | None) -> str:
    """By how long the oldest one waits, and how many more do in each minute; None where that is not known."""
    if is_paused:
        return PAUSED
    if not is_served:
        return UNSERVED
    if wait is not None and wait > LONG_WAIT:
        return BEHIND
    if grows(counts.waiting, trend):
        return GROWING
    return ACTIVE if counts.waiting or counts.running else IDLE


def grows(waiting: int, trend: float | None) -> bool:
    return trend is not None and waiting >= MANY_WAIT and trend * 60 >= GROWS_BY * waiting
