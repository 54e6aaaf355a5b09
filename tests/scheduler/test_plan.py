"""One schedule's turn, before anything is written."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from jobs_app import job
from jobs_app.errors import PayloadInvalid
from jobs_app.ids import slot_id
from jobs_app.lifecycle.slots import SlotDrafts
from jobs_app.models import ScheduleState
from jobs_app.scheduler.plan import Planner, Step, failure
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def pay() -> Any:
    @job(queue="money", priority=7, max_attempts=3, meta={"team": "billing"})
    def pay(amount: int = 5) -> None: ...

    return pay


def plan(row: ScheduleState, now: datetime, live: Collection[str] = (), random: float = 0.5) -> Step:
    return Planner(now, lambda: random, SlotDrafts()).plan(row, {row.pk: live} if live else {})


def slots(step: Step) -> list[float]:
    return [(one.slot_at - NOON).total_seconds() for one in step.jobs if one.slot_at]


def test_the_job_is_what_an_enqueue_would_store_and_carries_its_slot() -> None:
    row = schedule("pay", subject="sub-1", name="late fee", payload={"amount": 9})
    [made] = plan(row, after(20)).jobs
    assert (made.queue, made.priority, made.max_attempts) == ("money", 7, 3)
    assert (made.subject, made.payload, made.meta) == ("sub-1", '{"amount":9}', '{"team":"billing"}')
    assert (made.slot_at, made.schedule, made.is_due_at_once) == (after(15), row.pk, True)
    assert made.id == slot_id("pay", "sub-1", "late fee", after(15))


def test_ids_of_slots_differ_and_repeat() -> None:
    row = schedule("pay")
    first, again, later = (plan(row, moment).jobs[0].id for moment in (NOON, after(14), after(15)))
    assert first == again != later
    assert isinstance(first, UUID)


@pytest.mark.spec("S0.24")
def test_a_slot_that_was_taken_is_not_taken_again_and_the_grid_goes_on_after_it() -> None:
    step = plan(schedule("pay", last_slot=after(30)), after(20))
    assert (step.jobs, step.last_slot, step.next_run_at) == ([], after(30), after(45))


def test_a_payload_that_no_longer_fits_is_an_error_and_the_schedule_stays() -> None:
    step = plan(schedule("pay", payload={"amount": "nine"}), NOON)
    assert isinstance(step.error, PayloadInvalid)
    assert (step.jobs, step.next_run_at, step.last_slot) == ([], NOON, None)


@pytest.mark.spec("A0.3", "S0.22")
def test_the_first_slot_that_fails_ends_the_turn_there() -> None:
    calls = iter([1, 2, 0, 4])

    @job(subject=lambda payload: str(1 / next(calls)))
    def shaky() -> None: ...

    row = schedule("shaky", interval_seconds=1, catch_up="all", catch_up_max=4)
    step = plan(row, after(10))
    assert (slots(step), step.next_run_at, step.last_slot) == ([0, 1], after(2), after(1))
    assert "ZeroDivisionError" in step.error_text


@pytest.mark.spec("S0.29", "S0.43")
def test_jitter_moves_each_job_by_a_random_part_of_it() -> None:
    row = schedule("pay", jitter_seconds=300, catch_up="all", spread_seconds=0)
    draws = iter([0.0, 0.25, 0.999])
    step = Planner(after(30), lambda: next(draws), SlotDrafts()).plan(row, {})
    assert [one.delay for one in step.jobs] == pytest.approx([0, 75, 299.7])


@pytest.mark.spec("S0.R5", "S0.28")
def test_what_is_caught_up_is_spread_and_jitter_comes_on_top() -> None:
    row = schedule("pay", jitter_seconds=10, catch_up="all", spread_seconds=3600)
    assert [one.delay for one in plan(row, after(30)).jobs] == [5, 1205, 2405]


@pytest.mark.parametrize(
    ("overlap", "live", "made"),
    [
        ("allow", {"queued", "running"}, 1),
        ("skip", set(), 1),
        ("skip", {"running"}, 0),
        ("skip", {"queued"}, 0),
        ("queue_one", {"running"}, 1),
        ("queue_one", {"queued", "running"}, 0),
    ],
)
def test_overlap_says_what_a_slot_adds_to_jobs_that_wait_or_run(overlap: str, live: set[str], made: int) -> None:
    step = plan(schedule("pay", overlap=overlap), NOON, live)
    assert (len(step.jobs), step.skipped) == (made, 1 - made)
    assert (step.next_run_at, step.last_slot) == (after(15), NOON), "the slot has passed"


def test_where_there_is_room_for_one_job_what_was_missed_becomes_one() -> None:
    step = plan(schedule("pay", overlap="skip", catch_up="all"), after(45))
    assert (slots(step), step.skipped, step.next_run_at) == ([45], 3, after(60))


def test_one_moment_is_taken_once() -> None:
    row = schedule("pay", interval_seconds=None, once_at=NOON)
    step = plan(row, after(1))
    assert (slots(step), step.next_run_at) == ([0], None)


def test_a_cron_goes_on_from_now() -> None:
    row = schedule("pay", interval_seconds=None, cron="*/5 * * * *")
    step = plan(row, after(601))
    assert (slots(step), step.skipped, step.next_run_at) == ([600], 2, after(900))


def test_a_failure_leaves_the_row_where_it_is() -> None:
    step = failure(schedule("pay", last_slot=after(-15)), ValueError("no\x00 good"))
    assert (step.next_run_at, step.last_slot, step.jobs) == (NOON, after(-15), [])
    assert step.error_text == "ValueError: no good"
