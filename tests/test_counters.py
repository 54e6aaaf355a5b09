"""What is counted, and under which labels."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError
from prometheus_client import REGISTRY, CollectorRegistry, Histogram
from prometheus_client.metrics import MetricWrapperBase

from jobs_app import counters, job
from jobs_app.counters import BUCKETS, BatchHistogram, label_of_queue, outcome_of
from jobs_app.errors import PayloadInvalid


@pytest.mark.spec("S0.R11")
def test_durations_have_the_known_buckets() -> None:
    assert BUCKETS == (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
    assert counters.DURATION.labels("x")._upper_bounds == [*BUCKETS, float("inf")]


def test_a_batch_counts_as_its_values_one_by_one_do() -> None:
    values = [0.0, 0.1, 0.1000001, 3, 600, 601, 5, 5]
    many, one = CollectorRegistry(), CollectorRegistry()
    BatchHistogram("h", "", buckets=BUCKETS, registry=many).observe_all(values)
    histogram = Histogram("h", "", buckets=BUCKETS, registry=one)
    for value in values:
        histogram.observe(value)
    found = [
        {(each.name, each.labels.get("le")): each.value for family in registry.collect() for each in family.samples}
        for registry in (many, one)
    ]
    for key, value in found[0].items():
        if not key[0].endswith("_created"):
            assert value == pytest.approx(found[1][key]), key


def test_no_label_is_free_text() -> None:
    every = [each for each in vars(counters).values() if isinstance(each, MetricWrapperBase)]
    assert len(every) >= 12
    assert {label for each in every for label in each._labelnames} == {"job_type", "outcome", "queue"}


@pytest.mark.parametrize(
    ("state", "outcome", "told"),
    [
        ("succeeded", "success", "succeeded"),
        ("failed", "timeout", "failed"),
        ("cancelled", "cancelled", "cancelled"),
        *[("queued", outcome, "retried") for outcome in ("error", "timeout", "crashed", "lost")],
        *[("queued", outcome, "returned") for outcome in ("interrupted", "deferred", "snoozed", "")],
    ],
)
def test_an_outcome_is_one_of_five(state: str, outcome: str, told: str) -> None:
    assert outcome_of(state, outcome) == told
    assert told in counters.OUTCOMES


def test_a_queue_that_code_does_not_name_is_another(settings: Any) -> None:
    @job(queue="named")
    def sample() -> None: ...

    settings.JOBS = {"QUEUES": {"ruled": {"concurrency": 1}}}
    assert [label_of_queue(name) for name in ("named", "ruled", "chosen")] == ["named", "ruled", "other"]


@pytest.mark.django_db
@pytest.mark.spec("S0.R11")
def test_enqueues_are_counted_by_how_they_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    @job(name="enqueued-here")
    def sample(n: int = 0) -> None: ...

    def fails(*given: Any, **more: Any) -> None:
        raise DatabaseError("away")

    def counted(outcome: str) -> float | None:
        labels = {"job_type": "enqueued-here", "outcome": outcome}
        return REGISTRY.get_sample_value("jobs_enqueue_attempts_total", labels)

    sample.enqueue()
    sample.enqueue_many([{"n": number} for number in range(3)])
    with pytest.raises(PayloadInvalid):
        sample.enqueue(n="x")  # type: ignore[arg-type]
    assert (counted("success"), counted("error")) == (4, None)
    monkeypatch.setattr("jobs_app.lifecycle.conflicts.enqueue_all", fails)
    with pytest.raises(DatabaseError):
        sample.enqueue_many([{"n": number} for number in range(2)])
    assert (counted("success"), counted("error")) == (4, 2)
