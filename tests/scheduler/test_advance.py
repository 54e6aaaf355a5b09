"""One schedule's turn."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import PayloadInvalid
from jobs_app.ids import slot_id
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ScheduleState
from jobs_app.scheduler.advance import advance, failure, plan
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def pay() -> Any:
    @job(queue="money", priority=7, max_attempts=3, meta={"team": "billing"})
    def pay(amount: int = 5) -> None: ...

    return pay


def test_the_job_is_what_an_enqueue_would_store_and_carries_its_slot() -> None:
    row = schedule("pay", subject="sub-1", name="late fee", payload={"amount": 9})
    step = plan(row, after(20))
    assert step.job is not None
    assert (step.job.queue, step.job.priority, step.job.max_attempts) == ("money", 7, 3)
    assert (step.job.subject, step.job.payload, step.job.meta) == ("sub-1", '{"amount":9}', '{"team":"billing"}')
    assert (step.job.slot_at, step.job.schedule) == (after(15), row.pk)
    assert step.job.id == slot_id("pay", "sub-1", "late fee", after(15))


def test_a_payload_that_no_longer_fits_is_an_error() -> None:
    with pytest.raises(PayloadInvalid):
        plan(schedule("pay", payload={"amount": "nine"}), NOON)


@pytest.mark.spec("S0.24")
def test_a_slot_that_was_taken_is_not_taken_again_and_the_grid_goes_on_after_it() -> None:
    row = schedule("pay", last_slot=after(30))
    step = plan(row, after(20))
    assert (step.job, step.slot) == (None, None)
    assert step.next_run_at == after(45)


def test_what_happened_is_written() -> None:
    rows = [
        schedule("pay", subject="fine", failures=2, last_error="before"),
        schedule("pay", subject="bad", last_run_at=after(-15), last_slot=after(-15)),
        schedule("pay", subject="taken", last_slot=NOON, last_run_at=after(-5)),
    ]
    steps = [plan(rows[0], after(1)), failure(rows[1], ValueError("no\x00 good")), plan(rows[2], after(1))]
    with frozen_clock(after(1)):
        advance(connection, steps, after(1))
    fine, bad, taken = (ScheduleState.objects.get(pk=row.pk) for row in rows)
    assert (fine.next_run_at, fine.last_run_at, fine.last_slot) == (after(15), after(1), NOON)
    assert (fine.failures, fine.last_error, fine.updated_at) == (0, "", after(1))
    assert (bad.next_run_at, bad.last_run_at, bad.last_slot) == (NOON, after(-15), after(-15))
    assert (bad.failures, bad.last_error) == (1, "ValueError: no good")
    assert (taken.next_run_at, taken.last_run_at, taken.last_slot) == (after(15), after(-5), NOON)


def test_ids_of_slots_differ_and_repeat() -> None:
    row = schedule("pay")
    first, again, later = plan(row, NOON).job, plan(row, after(14)).job, plan(row, after(15)).job
    assert first is not None and again is not None and later is not None  # noqa: PT018
    assert first.id == again.id != later.id
    assert isinstance(first.id, UUID)
