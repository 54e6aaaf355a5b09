"""(new) -> queued: one INSERT in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, transaction

from jobs_app.ids import uuid7
from jobs_app.lifecycle import enqueue as module
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.models import Job
from tests.lifecycle.rows import T, at, new_job, stored
from tests.lifecycle.sessions import sessions

AssertQueries = Callable[[int], Any]


@pytest.mark.django_db
@pytest.mark.spec("S2.8", "S2.9")
def test_an_enqueue_is_one_statement(django_assert_num_queries: AssertQueries) -> None:
    with django_assert_num_queries(1):
        enqueue([new_job()])


@pytest.mark.django_db
@pytest.mark.spec("S1.6", "S2.6", "S2.33", "S4.13")
def test_every_column_is_stored_as_given() -> None:
    job = new_job(
        job_type="send-mail",
        queue="mail",
        priority=-7,
        max_attempts=3,
        payload='{"to": "ä", "n": [1, null, 1.5]}',
        subject="tenant 7",
        expires_at=T + timedelta(days=1),
        policy="singleton",
        key="k",
        gate=2,
        timeout_seconds=7.5,
        meta='{"cost": 0.5}',
        actor="ada",
        parent=uuid4(),
        slot_at=T - timedelta(hours=1),
        schedule=2**40,
    )
    with at(0):
        [told] = enqueue([job])
    [row] = Job.objects.values()
    assert row == {
        "id": job.id,
        "state": "queued",
        "hold": "new",
        "gate": 2,
        "timeout_seconds": 7.5,
        "abort_requested": False,
        "job_type": "send-mail",
        "queue": "mail",
        "subject": "tenant 7",
        "priority": -7,
        "run_at": T,
        "queued_at": T,
        "expires_at": T + timedelta(days=1),
        "slot_at": T - timedelta(hours=1),
        "schedule": 2**40,
        "policy": "singleton",
        "key": "k",
        "attempts": 0,
        "free_attempts": 0,
        "max_attempts": 3,
        "payload": {"to": "ä", "n": [1, None, 1.5]},
        "meta": {"cost": 0.5},
        "actor": "ada",
        "parent": job.parent,
        "cursor": "",
        "progress_count": 0,
        "result_count": 0,
        "target_count": None,
        "progress_message": "",
        "last_progress_at": None,
        "worker_id": "",
        "first_started_at": None,
        "started_at": None,
        "token": None,
        "lease_expires_at": None,
        "cancel_requested": False,
        "last_error": "",
    }
    assert told[:3] == (job.id, T, T)


@pytest.mark.parametrize(
    ("given", "due_after"),
    [
        ({}, 0),
        ({"delay": 90.5}, 90.5),
        ({"delay": -90}, 0),
        ({"run_at": T + timedelta(hours=1)}, 3600),
        ({"run_at": T - timedelta(hours=1)}, 0),
        ({"run_at": T + timedelta(hours=1), "delay": 5}, 3600),
    ],
    ids=["now", "delay", "negative delay", "later", "in the past", "run_at before delay"],
)
@pytest.mark.django_db
def test_a_job_is_due_when_asked_and_never_before_now(given: dict[str, Any], due_after: float) -> None:
    with at(0):
        [told] = enqueue([new_job(**given)])
    assert told.run_at == Job.objects.get().run_at == T + timedelta(seconds=due_after)


@pytest.mark.django_db
def test_due_times_of_one_statement_may_all_differ() -> None:
    jobs = [new_job(delay=5), new_job(run_at=T + timedelta(hours=1)), new_job(), new_job(run_at=T - timedelta(hours=1))]
    with at(0):
        told = enqueue(jobs)
    due = [T + timedelta(seconds=seconds) for seconds in (5, 3600, 0, 0)]
    assert [one.run_at for one in told] == due
    assert [Job.objects.get(pk=job.id).run_at for job in jobs] == due


@pytest.mark.django_db(transaction=True)
def test_an_enqueue_rolls_back_with_its_caller_and_is_seen_by_others_only_after_the_commit() -> None:
    with sessions(1) as [caller]:
        caller.begin()
        caller.do(stored)
        assert caller.do(Job.objects.count) == 1
        assert not Job.objects.exists()
        caller.rollback()
        assert not Job.objects.exists()
        caller.begin()
        [run_id] = caller.do(stored)
        caller.commit()
        assert Job.objects.get().id == run_id


@pytest.mark.django_db
def test_thousands_are_stored_in_order_by_few_statements(django_assert_num_queries: AssertQueries) -> None:
    jobs = [new_job(payload=f'{{"n": {number}}}', priority=number % 3) for number in range(4500)]
    with django_assert_num_queries(3):
        told = enqueue(jobs)
    assert [one.id for one in told] == [job.id for job in jobs]
    in_order = Job.objects.order_by("id").values_list("id", "payload__n", "priority")
    assert [(run_id, n, priority) for run_id, n, priority in in_order] == [
        (job.id, number, number % 3) for number, job in enumerate(jobs)
    ]


@pytest.mark.django_db
def test_nothing_to_store_is_no_statement(django_assert_num_queries: AssertQueries) -> None:
    with django_assert_num_queries(0):
        assert enqueue([]) == []


@pytest.mark.django_db
def test_large_payloads_are_spread_over_more_statements(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: AssertQueries
) -> None:
    monkeypatch.setattr(module, "BYTES_PER_STATEMENT", 1000)
    sizes = [10, 600, 600, 5000, 10, 10]
    jobs = [new_job(payload=f'"{"x" * size}"') for size in sizes]
    with django_assert_num_queries(4):
        told = enqueue(jobs)
    assert [one.id for one in told] == [job.id for job in jobs]
    assert [len(payload) for payload in Job.objects.order_by("id").values_list("payload", flat=True)] == sizes


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_cannot_be_stored_stores_nothing() -> None:
    twin = uuid7()
    with pytest.raises(DatabaseError):
        enqueue([new_job(), new_job(id=twin), new_job(id=twin)])
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_enqueue_inside_a_callers_transaction_needs_no_other_connection() -> None:
    with transaction.atomic():
        stored(3)
        assert Job.objects.count() == 3
    assert Job.objects.count() == 3
