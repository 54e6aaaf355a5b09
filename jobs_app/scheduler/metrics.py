"""What a scheduler counts and measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jobs_app.counters import ENQUEUES, LAST_TICK, LATENESS, SKIPPED, TICK, show
from jobs_app.registry import SYSTEM_NAMES

if TYPE_CHECKING:
    from jobs_app.scheduler.tick import Made, Ticked


def note_made(made: Iterable[Made]) -> None:
    for one in made:
        if not _is_own(one.job_type):
            ENQUEUES.labels(one.job_type, "success").inc()
            LATENESS.labels(one.job_type).observe((one.at - one.slot).total_seconds())


def note_found(job_type: str, count: int) -> None:
    """Jobs of what a source says is due, which have no slot."""
    ENQUEUES.labels(job_type, "success").inc(count)


def note_tick(ticked: Ticked, seconds: float) -> None:
    for job_type, count in ticked.failed.items():
        if not _is_own(job_type):
            ENQUEUES.labels(job_type, "error").inc(count)
    for job_type, count in ticked.skipped.items():
        if not _is_own(job_type):
            SKIPPED.labels(job_type).inc(count)
    show(TICK, LAST_TICK)
    TICK.observe(seconds)
    LAST_TICK.set_to_current_time()


def _is_own(job_type: str) -> bool:
    """The app's own chores are nobody's business but its own."""
    return job_type.startswith(SYSTEM_NAMES)
