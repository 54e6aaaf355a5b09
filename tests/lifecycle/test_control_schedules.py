"""Schedules by hand: a pause lasts, a resume is not a catch-up, and a trigger is a slot of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection

from jobs_app import job
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, Job, ScheduleState
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture(autouse=True)
def rates() -> None:
    @job(name="rates", every="1h")
    def rates() -> None: ...

    with at(0):
        sync_declared(connection)
        tick(connection)


def row() -> ScheduleState:
    return ScheduleState.objects.get(job_type="rates", subject="")


def made_at(seconds: float) -> int:
    """How many jobs a tick makes then."""
    with at(seconds):
        return len(tick(connection).made)


@pytest.mark.spec("S0.R1", "S0.47")
def test_a_paused_schedule_is_never_due_until_someone_resumes_it() -> None:
    assert control.pause_schedule(row().pk, "ann", "audit").moved == [row().pk]
    assert [made_at(hours * HOUR) for hours in (1, 2, 30)] == [0, 0, 0]
    with at(31 * HOUR):
        assert sync_declared(connection).changed == []
    assert row().paused
    event = ControlEvent.objects.get()
    assert (event.action, event.target_kind, event.target, event.reason) == ("pause", "schedule", "rates", "audit")


@pytest.mark.spec("S0.R1")
def test_a_sync_with_another_interval_leaves_the_pause_alone() -> None:
    control.pause_schedule(("rates", "", ""), "ann")
    ScheduleState.objects.update(interval_seconds=60)
    with at(1):
        assert sync_declared(connection).changed == ["rates"]
    assert row().paused


@pytest.mark.spec("S0.R2", "S0.47")
def test_a_resume_makes_it_due_now_and_does_not_catch_up() -> None:
    control.pause_schedule(row(), "ann")
    with at(3 * HOUR + 60):
        assert control.resume_schedule(row(), "bob", "done").moved == [row().pk]
        assert (row().paused, row().next_run_at) == (False, T + timedelta(seconds=3 * HOUR + 60))
        assert Job.objects.count() == 1
    assert made_at(3 * HOUR + 90) == 1
    assert made_at(3 * HOUR + 120) == 0
    assert made_at(4 * HOUR + 60) == 1


@pytest.mark.spec("S0.R2", "S0.47")
@pytest.mark.parametrize("paused", [True, False])
def test_a_trigger_makes_it_due_now_and_resumes_it(paused: bool) -> None:
    ScheduleState.objects.update(paused=paused)
    with at(600):
        assert control.trigger_schedule(row().pk, "ann", "now please").moved == [row().pk]
    assert made_at(601) == 1
    assert made_at(602) == 0
    assert not row().paused
    assert ControlEvent.objects.get().detail == ({"resumed": [row().pk]} if paused else {})


def user_with(*codenames: str) -> User:
    user, _ = User.objects.get_or_create(username="ann")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=user.pk)


def test_who_may_not_resume_triggers_only_what_is_not_paused() -> None:
    other = ScheduleState.objects.create(job_type="rates", subject="x", interval_seconds=60, next_run_at=T)
    ScheduleState.objects.filter(pk=row().pk).update(paused=True)
    acted = control.trigger_schedule([row().pk, other.pk], user_with("trigger_job"))
    why = "is paused, and to resume it needs the permission jobs_app.resume_work"
    assert (acted.moved, acted.skipped) == ([other.pk], {row().pk: why})
    assert row().paused
    assert ControlEvent.objects.get().detail == {"moved": [other.pk], "skipped": {why: 1}}
    assert control.trigger_schedule(row().pk, user_with("trigger_job", "resume_work")).moved == [row().pk]
    assert not row().paused


def test_what_is_paused_or_not_already_is_skipped() -> None:
    pk = row().pk
    assert control.resume_schedule(pk, "ann").skipped == {pk: "is not paused"}
    control.pause_schedule(pk, "ann")
    assert control.pause_schedule(pk, "ann").skipped == {pk: "is paused already"}
    assert control.pause_schedule([pk + 999, ("rates", "x", "")], "ann").skipped == {
        pk + 999: "does not exist",
        ("rates", "x", ""): "does not exist",
    }


def test_what_cannot_come_is_not_triggered() -> None:
    past = ScheduleState.objects.create(job_type="rates", subject="once", once_at=T)
    gone = ScheduleState.objects.create(job_type="gone", interval_seconds=60, next_run_at=T, retired=True)
    acted = control.trigger_schedule([past, gone], "ann")
    assert acted.skipped == {
        past.pk: "has had its last slot",
        gone.pk: "is of job type 'gone', which is gone from code",
    }
    control.pause_schedule(past, "ann")
    control.resume_schedule(past, "ann")
    assert ScheduleState.objects.get(pk=past.pk).next_run_at is None


def test_many_are_named_by_id_name_or_row_and_each_counts_once() -> None:
    rows = [
        ScheduleState.objects.create(job_type="rates", subject=f"s{n}", interval_seconds=60, next_run_at=T)
        for n in range(300)
    ]
    names: list[Any] = [
        *rows[:100],
        *(row.pk for row in rows[100:200]),
        *(("rates", f"s{n}", "") for n in range(200, 300)),
    ]
    acted = control.pause_schedule([*names, rows[0].pk], "ann")
    assert sorted(acted.moved) == sorted(row.pk for row in rows)
    assert ScheduleState.objects.filter(paused=True).count() == 300
    assert [event.moved for event in ControlEvent.objects.order_by("pk")] == [200, 100]
    assert ControlEvent.objects.order_by("pk")[0].target == "200 schedules"


@pytest.mark.parametrize("given", ["rates", None, ("rates", ""), [("rates",)], 1.5, True])
def test_what_names_no_schedule_is_refused(given: Any) -> None:
    with pytest.raises(OptionInvalid, match="names no schedule"):
        control.pause_schedule(given, "ann")
