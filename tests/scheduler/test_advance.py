"""What turns made of their rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.slots import SlotDrafts
from jobs_app.models import ControlEvent, ScheduleState
from jobs_app.scheduler.advance import advance, is_given_up
from jobs_app.scheduler.plan import Planner, failure
from jobs_app.scheduler.records import record
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def pay() -> Any:
    @job
    def pay() -> None: ...

    return pay


def planner(seconds: float) -> Planner:
    return Planner(after(seconds), lambda: 0, SlotDrafts())


def test_what_happened_is_written() -> None:
    rows = [
        schedule("pay", subject="fine", failures=2, last_error="before", failing_since=after(-60)),
        schedule("pay", subject="bad", last_run_at=after(-15), last_slot=after(-15)),
        schedule("pay", subject="taken", last_slot=NOON, last_run_at=after(-5)),
        schedule("pay", subject="late", next_run_at=after(-60), skipped_slots=7),
    ]
    turns = planner(1)
    steps = [
        turns.plan(rows[0], {}),
        failure(rows[1], ValueError("no\x00 good")),
        *(turns.plan(row, {}) for row in rows[2:]),
    ]
    advance(connection, steps, after(1))
    fine, bad, taken, late = (ScheduleState.objects.get(pk=row.pk) for row in rows)
    assert (fine.next_run_at, fine.last_run_at, fine.last_slot) == (after(15), after(1), NOON)
    assert (fine.failures, fine.failing_since, fine.last_error, fine.updated_at) == (0, None, "", after(1))
    assert (bad.next_run_at, bad.last_run_at, bad.last_slot) == (NOON, after(-15), after(-15))
    assert (bad.failures, bad.failing_since, bad.last_error) == (1, after(1), "ValueError: no good")
    assert (taken.next_run_at, taken.last_run_at, taken.last_slot) == (after(15), after(-5), NOON)
    assert (late.next_run_at, late.last_slot, late.skipped_slots) == (after(15), NOON, 11)


@pytest.mark.parametrize(
    ("failures", "since", "given_up"), [(4, -600, True), (3, -600, False), (4, -599, False), (400, -599, False)]
)
def test_what_fails_often_and_for_long_is_switched_off(failures: int, since: float, given_up: bool) -> None:
    row = schedule("pay", failures=failures, failing_since=after(since))
    step = failure(row, ValueError("no"))
    assert is_given_up(step, NOON) == given_up
    advance(connection, [step], NOON)
    record(connection, [step], NOON)
    row.refresh_from_db()
    assert (row.disabled, row.last_error) == (given_up, "ValueError: no")
    told = ControlEvent.objects.filter(action="disable", target="pay", reason="ValueError: no", actor="scheduler")
    assert told.count() == given_up


def test_a_turn_that_works_is_never_given_up() -> None:
    row = schedule("pay", failures=99, failing_since=after(-9999))
    assert not is_given_up(planner(0).plan(row, {}), NOON)
