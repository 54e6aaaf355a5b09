"""Single figures: what is kept of a measurement, and how a few of them become one that can be told."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

JOBS_PER_SECOND, MILLISECONDS, MEBIBYTES, ROWS = "jobs/s", "ms", "MiB", "rows"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One value of one repeat."""

    work: str  # the file that measured it: drain, latency ...
    case: str
    program: str
    store: str
    unit: str
    value: float
    beside: str = ""  # the case of the same work, program and store that this one is a share of
    note: str = ""


@dataclass(frozen=True)
class Spread:
    """The repeats of one case. The median is what counts; the rest shows how far to trust it."""

    median: float
    least: float
    most: float
    repeats: int


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values), len(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all values do not exceed."""
    in_order = sorted(values)
    rank = math.ceil(len(in_order) * percent / 100)
    return in_order[max(rank, 1) - 1]


def ratio(value: float, base: float) -> float | None:
    return value / base if base else None


def told(value: float, unit: str) -> str:
    """As many digits as the measurement is worth."""
    if unit == ROWS or (unit == JOBS_PER_SECOND and value >= 10):
        digits = 0
    else:
        digits = 2 if unit == MILLISECONDS and value < 10 else 1
    return f"{value:,.{digits}f}"
