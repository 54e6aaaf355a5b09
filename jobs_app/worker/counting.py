"""What a worker counts for Prometheus, a batch at a time; one whose numbers nobody can read counts nothing."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from jobs_app.counters import (
    BUSY,
    COMPLETED,
    DRAINING,
    DURATION,
    LEASES_LOST,
    SLOTS,
    STARTED,
    WAIT,
    begin_at_zero,
    label_of_queue,
    outcome_of,
    show,
)
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.worker.flight import Flight, Report


class Counting:
    """Called by the finisher with each batch, and once a second with what runs."""

    def __init__(self, slots: int) -> None:
        self._one_at_a_time = threading.Lock()
        begin_at_zero(job_type.name for job_type in registry if job_type.queue != SYSTEM_QUEUE)
        show(SLOTS, BUSY, DRAINING)
        SLOTS.set(slots)

    def watch(self, running: Sequence[Flight], *, draining: bool) -> None:
        """A long job is not told of only as it ends."""
        BUSY.set(len(running))
        DRAINING.set(draining)
        self._count_started(running)

    def ended(self, batch: Sequence[Report], stored: Sequence[Report]) -> None:
        self._count_started([report.flight for report in batch if report.started is not None])
        outcomes = Counter(
            [(one.flight.job.job_type, outcome_of(one.ended.state, one.ended.outcome)) for one in stored]
        )
        for (job_type, outcome), count in outcomes.items():
            COMPLETED.labels(job_type, outcome).inc(count)
        if len(stored) < len(batch):
            kept = set(map(id, stored))
            self.lost([report.flight for report in batch if id(report) not in kept])
        _measure(stored)

    def lost(self, flights: Sequence[Flight]) -> None:
        self._count_started([flight for flight in flights if flight.started is not None])
        for job_type, count in Counter(flight.job.job_type for flight in flights).items():
            LEASES_LOST.labels(job_type).inc(count)

    def _count_started(self, flights: Iterable[Flight]) -> None:
        """Each once, whether it was seen to run or only to end."""
        with self._one_at_a_time:
            begun = [flight for flight in flights if not flight.is_counted]
            for flight in begun:
                flight.is_counted = True
        for job_type, count in Counter([flight.job.job_type for flight in begun]).items():
            STARTED.labels(job_type).inc(count)


def _measure(reports: Iterable[Report]) -> None:
    """The wait ends at the claim by the database's clock, and goes on until a thread is free by ours."""
    durations: dict[str, list[float]] = defaultdict(list)
    waits: dict[str, list[float]] = defaultdict(list)
    for report in reports:
        if report.started is not None:
            flight, job = report.flight, report.flight.job
            durations[job.job_type].append(report.finished - report.started)
            claimed_after = (job.started_at - job.run_at).total_seconds()
            waits[job.queue].append(max(0.0, claimed_after + report.started - flight.claimed))
    for job_type, seconds in durations.items():
        DURATION.labels(job_type).observe_all(seconds)
    for queue, seconds in waits.items():
        WAIT.labels(label_of_queue(queue)).observe_all(seconds)
