"""What a worker counts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from jobs_app import job
from jobs_app.lifecycle.moves import Ended
from jobs_app.worker.counting import Counting
from jobs_app.worker.flight import Flight, Report
from tests.worker.flights import NOON, flight_of
from tests.worker.harness import finished, working


def told(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture
def sample() -> Any:
    @job(name="counted-sample", queue="counted")
    def sample() -> None: ...

    return sample


@pytest.fixture
def counting(sample: Any) -> Counting:
    return Counting(slots=7)


def report(flight: Flight, state: str = "succeeded", outcome: str = "success", seconds: float = 3.0) -> Report:
    flight.started = flight.claimed + 0.25
    ended = Ended(id=flight.job.id, token=flight.job.token, state=state, outcome=outcome)
    return Report(flight, ended, flight.started, flight.started + seconds)


class Change:
    """How much more it is than at the start."""

    def __init__(self, name: str, **labels: str) -> None:
        self._name, self._labels = name, labels
        self._before = told(name, **labels)

    @property
    def more(self) -> float:
        return told(self._name, **self._labels) - self._before


def test_each_type_begins_with_zeros(counting: Counting) -> None:
    for outcome in ("succeeded", "failed", "cancelled", "retried", "returned"):
        labels = {"job_type": "counted-sample", "outcome": outcome}
        assert REGISTRY.get_sample_value("jobs_completed_total", labels) is not None
    assert told("jobs_worker_slots") == 7


def test_a_job_that_runs_is_counted_once_whether_it_is_seen_or_only_ends(counting: Counting, sample: Any) -> None:
    started = Change("jobs_started_total", job_type="counted-sample")
    long, short = flight_of(sample), flight_of(sample)
    counting.watch([long], draining=False)
    counting.watch([long], draining=True)
    assert started.more == 1
    assert (told("jobs_worker_slots_busy"), told("jobs_worker_draining")) == (1, 1)
    reports = [report(long), report(short)]
    counting.ended(reports, reports)
    assert started.more == 2


@pytest.mark.spec("S0.45", "S0.R11")
def test_ends_durations_and_waits_are_measured(counting: Counting, sample: Any) -> None:
    labels = {"job_type": "counted-sample"}
    done, retried = (Change("jobs_completed_total", outcome=each, **labels) for each in ("succeeded", "retried"))
    seconds, quick = (
        Change("job_duration_seconds_sum", **labels),
        Change("job_duration_seconds_bucket", le="5.0", **labels),
    )
    waits = Change("job_wait_seconds_sum", queue="counted")
    flights = [flight_of(sample, queue="counted", run_at=NOON - timedelta(seconds=2)) for _ in range(3)]
    reports = [report(flights[0]), report(flights[1], seconds=40), report(flights[2], "queued", "error")]
    counting.ended(reports, reports)
    assert (done.more, retried.more, seconds.more, quick.more) == (2, 1, 46, 2)
    assert waits.more == pytest.approx(3 * 2.25)


def test_a_lost_lease_is_counted_and_no_end(counting: Counting, sample: Any) -> None:
    done = Change("jobs_completed_total", job_type="counted-sample", outcome="succeeded")
    lost = Change("jobs_leases_lost_total", job_type="counted-sample")
    reports = [report(flight_of(sample)) for _ in range(3)]
    counting.ended(reports, reports[:1])
    counting.lost([flight_of(sample)])
    assert (done.more, lost.more) == (1, 3)


def test_what_never_began_is_not_measured(counting: Counting, sample: Any) -> None:
    started = Change("jobs_started_total", job_type="counted-sample")
    took = Change("job_duration_seconds_count", job_type="counted-sample")
    flight = flight_of(sample)
    ended = Ended(id=flight.job.id, token=flight.job.token, state="queued", outcome="deferred")
    batch = [Report(flight, ended, None, 0.0)]
    counting.ended(batch, batch)
    assert (started.more, took.more) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_worker_counts_only_where_somebody_reads(sample: Any) -> None:
    done = Change("jobs_completed_total", job_type="counted-sample", outcome="succeeded")
    for counts, expected in ((False, 0), (True, 2)):
        with working(counts=counts):
            finished(*[sample.enqueue() for _ in range(2)])
        assert done.more == expected
