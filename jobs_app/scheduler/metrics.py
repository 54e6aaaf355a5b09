"""What a scheduler counts and measures for Prometheus, and the port on which it can be read without the web."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.core.management.base import CommandError
from prometheus_client import Counter, Gauge, Histogram, start_http_server

if TYPE_CHECKING:
    from jobs_app.scheduler.tick import Made, Ticked

# Labels are job types, which code bounds; never subjects.
ENQUEUES = Counter("jobs_enqueue_attempts_total", "Slots that a scheduler tried to enqueue", ["job_type", "outcome"])
SKIPPED = Counter("jobs_slots_skipped_total", "Slots that passed without a job", ["job_type"])
LATENESS = Histogram(
    "jobs_schedule_lateness_seconds",
    "Seconds from a slot to its enqueue",
    ["job_type"],
    buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600),
)
TICK = Histogram("jobs_scheduler_tick_duration_seconds", "Seconds that a tick takes")
LAST_TICK = Gauge("jobs_scheduler_last_tick_timestamp_seconds", "When the last tick ended")


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


@contextmanager
def serving(port: int | None) -> Iterator[None]:
    """Serve them while this lasts; None serves nothing."""
    if port is None:
        yield
        return
    try:
        server, thread = start_http_server(port)
    except OSError as error:
        raise CommandError(
            f"the metrics cannot be served on port {port}: {error}. Give another --metrics-port."
        ) from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
