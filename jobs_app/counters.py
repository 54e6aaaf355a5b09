"""What a process counts and measures for Prometheus: the objects, which every layer may use and which ask nothing.

Labels are names that code bounds: job types, queues, outcomes; never a subject, an id, a host or an error.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from jobs_app.conf import get_settings
from jobs_app.registry import registry

BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)  # seconds
OTHER = "other"  # what code does not name: a queue chosen at an enqueue, a job type of another release
OUTCOMES = ("succeeded", "failed", "cancelled", "retried", "returned")


class BatchHistogram(Histogram):
    """Takes many values at once: 0.03 us for each, where `observe` takes 0.7, and a short job has 25 in all."""

    def observe_all(self, values: Iterable[float]) -> None:
        ordered = sorted(values)
        begin = 0
        for bucket, bound in zip(self._buckets, self._upper_bounds, strict=True):
            end = bisect_right(ordered, bound, begin)
            if end > begin:
                bucket.inc(end - begin)
                begin = end
        self._sum.inc(sum(ordered))


# Whoever enqueues: code in any process, and schedulers.
ENQUEUES = Counter("jobs_enqueue_attempts_total", "Enqueues, by how they ended", ["job_type", "outcome"])

# Workers. A job that a worker on another host runs is counted by the web process that it reports to.
STARTED = Counter("jobs_started_total", "Attempts that began", ["job_type"])
COMPLETED = Counter("jobs_completed_total", "Attempts that ended, by outcome", ["job_type", "outcome"])
DURATION = BatchHistogram("job_duration_seconds", "Seconds that an attempt took", ["job_type"], buckets=BUCKETS)
WAIT = BatchHistogram("job_wait_seconds", "Seconds from due to started", ["queue"], buckets=BUCKETS)
LEASES_LOST = Counter("jobs_leases_lost_total", "Attempts whose worker had lost the lease", ["job_type"])
_OF_ALL: Any = {"multiprocess_mode": "livesum", "registry": None}
SLOTS = Gauge("jobs_worker_slots", "Jobs that this worker runs at once", **_OF_ALL)
BUSY = Gauge("jobs_worker_slots_busy", "Jobs that this worker runs now", **_OF_ALL)
DRAINING = Gauge("jobs_worker_draining", "1 while this worker takes no more jobs", **_OF_ALL)

# Schedulers
SKIPPED = Counter("jobs_slots_skipped_total", "Slots that passed without a job", ["job_type"])
LATENESS = Histogram(
    "jobs_schedule_lateness_seconds",
    "Seconds from a slot to its enqueue",
    ["job_type"],
    buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600),
)
TICK = Histogram("jobs_scheduler_tick_duration_seconds", "Seconds that a tick takes", registry=None)
LAST_TICK = Gauge(
    "jobs_scheduler_last_tick_timestamp_seconds", "When the last tick ended", multiprocess_mode="max", registry=None
)


def show(*metrics: MetricWrapperBase) -> None:
    """Those without labels are there as soon as they are registered: where there is neither a worker nor a scheduler,
    a zero would be a lie."""
    for metric in metrics:
        with suppress(ValueError):  # it is
            REGISTRY.register(metric)


def begin_at_zero(job_types: Iterable[str]) -> None:
    """A rate is known from the first job on only where there was a zero before."""
    for name in job_types:
        STARTED.labels(name)
        for outcome in OUTCOMES:
            COMPLETED.labels(name, outcome)


def label_of_type(name: str) -> str:
    return name if name in registry else OTHER


def label_of_queue(name: str) -> str:
    return name if name in known_queues() else OTHER


def known_queues() -> set[str]:
    """Those that code names."""
    return {job_type.queue for job_type in registry} | set(get_settings().queues)


def outcome_of(state: str, outcome: str) -> str:
    """Of an attempt, as it is counted: what goes back to wait was either tried in vain, or given back."""
    if state != "queued":
        return state
    return "retried" if outcome in ("error", "timeout", "crashed", "lost") else "returned"
