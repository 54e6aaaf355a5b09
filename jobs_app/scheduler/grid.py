"""The slots of an interval: a grid that starts somewhere and never drifts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple


class Turn(NamedTuple):
    """What a due schedule does now."""

    slot: datetime  # the newest that has passed
    next_run_at: datetime  # the first that has not


def turn(start: datetime, interval_seconds: float, now: datetime) -> Turn:
    """`start` is a slot at or before `now`; all others are whole intervals away from it."""
    interval = timedelta(seconds=interval_seconds)
    if not interval:
        raise ValueError(f"an interval of {interval_seconds} s is shorter than a clock can tell")
    slot = start + (now - start) // interval * interval
    return Turn(slot, slot + interval)
