"""One schedule: its runs, what was changed about it, what was done to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.ids import slot_id
from jobs_app.insights import one_schedule, schedules
from jobs_app.lifecycle import control
from jobs_app.models import ScheduleState
from jobs_app.timetable import Timetable
from tests.lifecycle.history import finished
from tests.lifecycle.planned import change, define_types, row
from tests.lifecycle.rows import T, at, stored

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def world() -> None:
    define_types()


def test_its_last_runs_are_those_of_its_newest_slots_live_or_finished() -> None:
    rates = row("rates")
    live = row_runs(rates)  # the first tick made one, which waits
    old = slot_id("rates", "", "", T - timedelta(hours=1))
    finished(0, "failed", id=old, schedule=rates.pk, slot_at=T - timedelta(hours=1))
    stored(schedule=None)
    assert [(run.id, run.status) for run in row_runs(rates)] == [(live[0].id, "queued"), (old, "failed")]
    assert [run.id for run in row_runs(rates, limit=1)] == [live[0].id]


def row_runs(of: ScheduleState, **options: Any) -> list[one_schedule.SlotRun]:
    return one_schedule.recent_runs(connection, of, T, **options)


def test_an_override_stands_beside_what_code_says() -> None:
    change(every="2h", jitter=30)
    found = {
        each.column: (each.value, each.is_known, each.code_value) for each in one_schedule.overrides_of(row("rates"))
    }
    assert found["interval_seconds"] == (7200, True, 3600)
    assert found["jitter_seconds"] == (30, True, 0)


def test_what_a_source_says_is_not_known_here() -> None:
    sourced = ScheduleState(job_type="rates", subject="a", origin="source", overrides={"jitter_seconds": 5})
    [found] = one_schedule.overrides_of(sourced)
    assert (found.value, found.is_known) == (5, False)


def test_its_history_has_acts_upon_it_its_job_type_and_its_subject() -> None:
    job(name="mail")(lambda: None)
    mine = ScheduleState.objects.create(job_type="mail", subject="a", interval_seconds=60, next_run_at=T)
    for number, act in enumerate((mine.pk, control.schedules_of(job_type="mail"), control.schedules_of(subject="a"))):
        with at(number):
            control.pause_schedule(act, "ann")
    control.pause_schedule(row("rates").pk, "ann")
    found = [(event.target_kind, event.target) for event in one_schedule.events_of(connection, mine)]
    assert found == [("subject", "a"), ("job_type", "mail"), ("schedule", "mail a")]


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        (
            "2026-10-24T12:00Z",
            [("25. 02:30 CEST", "clocks go back: 02:30 comes twice, the first time counts"), ("26. 02:30 CET", "")],
        ),
        (
            "2026-03-28T12:00Z",
            [("29. 03:00 CEST", "02:30 does not exist on this day: runs at the shift"), ("30. 02:30 CEST", "")],
        ),
    ],
)
def test_slots_to_come_are_on_the_clock_of_the_schedule_with_notes_where_it_changes(
    start: str, shown: list[tuple[str, str]]
) -> None:
    daily = Timetable(cron="30 2 * * *", timezone="Europe/Berlin")
    first = daily.first(T.fromisoformat(start))
    slots = schedules.slots_from(daily, first, count=2)
    assert [(f"{slot.local:%d. %H:%M} {slot.local.tzname()}", slot.note) for slot in slots] == shown


def test_one_that_does_not_exist_is_none() -> None:
    assert one_schedule.get(connection, 2**70) is None
