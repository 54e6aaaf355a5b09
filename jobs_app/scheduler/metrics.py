"""What a scheduler counts and measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jobs_app.counters import ENQUEUES, LAST_TICK, LATENESS, SKIPPED, TICK

if TYPE_CHECKING:
    from jobs_app.scheduler.tick import Made, Ticked


def note_made(made: Iterable[Made]) -> None:
    for one in made:
        ENQUEUES.labels(one.job_type, "success").inc()
        LATENESS.labels(one.job_type).observe((one.at - one.slot).total_seconds())


def note_tick(ticked: Ticked, seconds: float) -> None:
    for job_type, count in ticked.failed.items():
        ENQUEUES.labels(job_type, "error").inc(count)
    for job_type, count in ticked.skipped.items():
        SKIPPED.labels(job_type).inc(count)
    TICK.observe(seconds)
    LAST_TICK.set_to_current_time()
