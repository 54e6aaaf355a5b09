"""What a tick leaves in the audit."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app import job
from jobs_app.models import ControlEvent, ScheduleState
from tests.scheduler.schedules import NOON, schedule, tick_at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat() -> None: ...

    return beat


def test_missed_slots_without_a_job_are_told_with_the_schedule_and_since_when() -> None:
    schedule("beat", subject="a")
    tick_at(3600)
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.target_kind, event.target) == (
        "scheduler",
        "skip_slots",
        "schedule",
        "beat a",
    )
    assert event.skipped == 240 == ScheduleState.objects.get().skipped_slots
    [told] = event.detail["slots"]
    assert told == {"schedule": "beat a", "skipped": 240, "from": NOON.isoformat(), "catch_up": "once"}


def test_an_outage_of_many_schedules_is_one_event_per_job_type() -> None:
    for n in range(30):
        schedule("beat", subject=str(n), catch_up="skip")
    tick_at(3600)
    event = ControlEvent.objects.get()
    assert (event.target_kind, event.target, event.skipped) == ("job_type", "beat", 30 * 241 - 30)
    assert (event.detail["schedules"], len(event.detail["slots"])) == (30, 20)


def test_a_tick_that_is_a_little_late_is_counted_in_the_row_and_no_event() -> None:
    schedule("beat")
    tick_at(59)
    assert ScheduleState.objects.get().skipped_slots == 3
    assert not ControlEvent.objects.exists()


def test_nothing_missed_is_nothing_told() -> None:
    schedule("beat", catch_up="all", catch_up_max=1000)
    tick_at(3600)
    assert not ControlEvent.objects.exists()
