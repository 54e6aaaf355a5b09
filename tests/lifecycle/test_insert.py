"""One job is stored by another statement than many, and is stored as one of many would be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs_app.ids import uuid7
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import Enqueued, NewJob
from jobs_app.models import Job, Pause, QueueState
from jobs_app.registry import SYSTEM_QUEUE
from tests.lifecycle.rows import T, at, new_job, one_running, stored

pytestmark = pytest.mark.django_db

GATES = {
    "no row": (None, 0),
    "no rule": ({}, 0),
    "running": ({"max_running": 3}, 1),
    "running per key": ({"max_running_per_key": 3}, 2),
    "running per process": ({"max_running_per_process": 3}, 0),
    "rate": ({"rate_count": 3, "rate_seconds": 60}, 1),
    "rate per key": ({"rate_per_key_count": 3, "rate_per_key_seconds": 60}, 2),
    "ageing": ({"ageing_seconds": 60}, 1),
    "fair share": ({"fair_share": True}, 1),
    "of all, per key": ({"max_running": 3, "rate_per_key_count": 3, "rate_per_key_seconds": 60, "fair_share": True}, 2),
}
PAUSES = {
    "none": ([], False),
    "the type": ([{"scope": "job_type", "name": "work"}], True),
    "the subject": ([{"scope": "subject", "name": "shop-7"}], True),
    "for a while": ([{"scope": "job_type", "name": "work", "until": T + timedelta(seconds=1)}], True),
    "expired": ([{"scope": "job_type", "name": "work", "until": T}], False),
    "expired subject": ([{"scope": "subject", "name": "shop-7", "until": T}], False),
    "another": ([{"scope": "job_type", "name": "shop-7"}, {"scope": "subject", "name": "work"}], False),
    "the queue": ([{"scope": "queue", "name": "default"}, {"scope": "queue", "name": SYSTEM_QUEUE}], False),
    "everything": ([{"scope": "all"}, {"scope": "subject", "name": ""}], False),
}
HOLDS = ["", "limit", "new"]  # by gate


def as_one(job: NewJob) -> Enqueued:
    [told] = enqueue([job])
    return told


def as_one_of_many(job: NewJob) -> Enqueued:
    told, _ = enqueue([job, new_job(job_type="company", queue="elsewhere")])
    return told


WAYS = [as_one, as_one_of_many]


def rows_of(job: NewJob) -> list[dict[str, Any]]:
    """What each way stores of the same job; its id apart."""
    rows = []
    for way in WAYS:
        job = job._replace(id=uuid7())
        assert way(job).created
        [row] = Job.objects.filter(pk=job.id).values()
        rows.append({name: value for name, value in row.items() if name != "id"})
    return rows


@pytest.mark.parametrize("asked", [0, 1, 2])
@pytest.mark.parametrize("queue", ["default", SYSTEM_QUEUE])
@pytest.mark.parametrize("pauses", PAUSES)
@pytest.mark.parametrize("rules", GATES)
def test_gate_and_hold_are_the_same_for_one_and_for_one_of_many(
    rules: str, pauses: str, queue: str, asked: int
) -> None:
    limits, gate_of_queue = GATES[rules]
    rows, is_paused = PAUSES[pauses]
    if limits is not None:
        QueueState.objects.create(name=queue, **limits)
    Pause.objects.bulk_create(Pause(**row) for row in rows)
    with at(0):
        one, of_many = rows_of(new_job(queue=queue, subject="shop-7", key="k", gate=asked))
    assert one == of_many
    gate = max(asked, gate_of_queue)
    hold = "pause" if is_paused and queue != SYSTEM_QUEUE else HOLDS[gate]
    assert (one["gate"], one["hold"]) == (gate, hold)


@pytest.mark.parametrize("way", WAYS)
def test_a_job_without_a_subject_is_held_by_no_pause_of_one(way: Callable[[NewJob], Enqueued]) -> None:
    Pause.objects.create(scope="subject", name="")
    job = new_job()
    way(job)
    assert Job.objects.get(pk=job.id).hold == ""


@pytest.mark.parametrize("way", WAYS)
def test_a_pause_ends_by_the_clock_of_the_database(way: Callable[[NewJob], Enqueued]) -> None:
    Pause.objects.create(scope="subject", name="shop-7", until=T + timedelta(seconds=10))
    during, after = new_job(subject="shop-7"), new_job(subject="shop-7")
    with at(9.999):
        way(during)
    with at(10):
        way(after)
    assert [Job.objects.get(pk=job.id).hold for job in (during, after)] == ["pause", ""]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("given", "due_after"),
    [
        ({}, 0),
        ({"delay": 90.5}, 90.5),
        ({"delay": 0.123456}, 0.123456),
        ({"delay": -90}, 0),
        ({"run_at": T + timedelta(hours=1)}, 3600),
        ({"run_at": T}, 0),
        ({"run_at": T - timedelta(hours=1)}, 0),
        ({"run_at": T - timedelta(hours=1), "delay": 5}, 0),
        ({"run_at": T + timedelta(hours=1), "delay": 5}, 3600),
    ],
    ids=[
        "now",
        "delay",
        "part of a second",
        "negative delay",
        "later",
        "just now",
        "past",
        "past, delay",
        "later, delay",
    ],
)
def test_a_job_is_due_when_asked_and_never_before_now(
    way: Callable[[NewJob], Enqueued], given: dict[str, Any], due_after: float
) -> None:
    job = new_job(**given)
    with at(0):
        told = way(job)
    row = Job.objects.get(pk=job.id)
    assert told.run_at == row.run_at == T + timedelta(seconds=due_after)
    assert told.queued_at == row.queued_at == T


@pytest.mark.parametrize("way", WAYS)
def test_by_a_clock_that_goes_on_what_is_told_is_what_is_stored(way: Callable[[NewJob], Enqueued]) -> None:
    for job in (new_job(), new_job(delay=60), new_job(run_at=T)):
        told = way(job)
        row = Job.objects.get(pk=job.id)
        assert (told.queued_at, told.run_at) == (row.queued_at, row.run_at)


def test_every_column_is_the_same_for_one_and_for_one_of_many() -> None:
    [parent] = stored()
    full = {
        "priority": -7,
        "max_attempts": 3,
        "payload": '{"to": "ä\'%s", "n": [1, null, 1.5]}',
        "subject": "shop-7",
        "expires_at": T + timedelta(days=1),
        "policy": "singleton",
        "key": "k",
        "meta": '{"cost": 0.5}',
        "actor": "ada",
        "gate": 2,
        "timeout_seconds": 7.5,
        "parent": parent,
        "slot_at": T - timedelta(hours=1),
        "schedule": 2**40,
    }
    with at(0):
        for given in [{}, full, *({name: value} for name, value in full.items())]:
            one, of_many = rows_of(new_job(**given))
            assert one == of_many, given


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["exclusive", "short", "stately"])
def test_who_is_refused_gets_the_one_that_has_the_key(way: Callable[[NewJob], Enqueued], policy: str) -> None:
    with at(0):
        first = way(new_job(policy=policy, key="k", delay=60))
    second = new_job(policy=policy, key="k")
    with at(10):
        told = way(second)
    assert first.created
    assert told == Enqueued(first.id, T, T + timedelta(seconds=60), False, "work", "queued")
    assert not Job.objects.filter(pk=second.id).exists()
    assert way(new_job(policy=policy, key="another")).created


@pytest.mark.parametrize("way", WAYS)
def test_who_runs_refuses_an_exclusive_one_too(way: Callable[[NewJob], Enqueued]) -> None:
    running = one_running(policy="exclusive", key="k")
    told = way(new_job(policy="exclusive", key="k"))
    assert (told.id, told.created, told.state) == (running.id, False, "running")
