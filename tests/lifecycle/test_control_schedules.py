"""Schedules by hand: a pause lasts, a resume is not a catch-up, and a trigger is a slot of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection

from jobs_app import job
from jobs_app.errors import OptionInvalid, UnknownJobType
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
    return ScheduleState.objects.get(job_type="rates", subject="", name="")


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


@pytest.mark.spec("S0.R1", "A0.7")
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
    why = "is paused, and to resume it needs the permission jobs_app.pause_schedule"
    assert (acted.moved, acted.skipped) == ([other.pk], {row().pk: why})
    assert row().paused
    assert ControlEvent.objects.get().detail == {"moved": [other.pk], "skipped": {why: 1}}
    assert control.trigger_schedule(row().pk, user_with("trigger_job", "pause_schedule")).moved == [row().pk]
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
    left = ScheduleState.objects.create(job_type="rates", subject="x", interval_seconds=60, retired=True)
    acted = control.trigger_schedule([past, gone, left], "ann")
    assert acted.skipped == {
        past.pk: "has had its last slot",
        gone.pk: "is of job type 'gone', which is gone from code",
        left.pk: "is retired: its code or its source has it no more",
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


@pytest.mark.spec("S0.R2", "A0.7")
def test_a_resume_after_three_hours_enqueues_one() -> None:
    ScheduleState.objects.update(interval_seconds=900, catch_up="all")
    control.pause_schedule(row(), "ann")
    with at(3 * HOUR):
        control.resume_schedule(row(), "ann")
    assert made_at(3 * HOUR) == 1
    assert made_at(3 * HOUR + 899) == 0
    assert made_at(3 * HOUR + 900) == 1


@pytest.mark.spec("S0.R2")
def test_a_resume_with_backfill_goes_on_where_it_stood_and_catches_up_as_the_schedule_says() -> None:
    ScheduleState.objects.update(catch_up="all", catch_up_max=2)
    control.pause_schedule(row(), "ann")
    with at(3 * HOUR + 60):
        assert control.resume_schedule(row(), "bob", backfill=True).moved == [row().pk]
    assert (row().paused, row().next_run_at) == (False, T + timedelta(hours=1))
    assert ControlEvent.objects.get(action="resume").detail == {"backfill": True}
    assert [made_at(3 * HOUR + seconds) for seconds in (60, 61, 62)] == [2, 1, 0]
    assert sorted(job.slot_at for job in Job.objects.all() if job.slot_at) == [T + timedelta(hours=n) for n in range(4)]


def test_a_resume_brings_back_what_was_switched_off_by_failures() -> None:
    ScheduleState.objects.update(disabled=True, failures=9, failing_since=T, last_error="bad payload")
    assert made_at(HOUR) == 0
    with at(2 * HOUR):
        assert control.resume_schedule(row(), "ann").moved == [row().pk]
    now = row()
    assert (now.disabled, now.failures, now.failing_since, now.last_error) == (False, 0, None, "")
    assert made_at(2 * HOUR) == 1


def other(**columns: Any) -> ScheduleState:
    return ScheduleState.objects.create(**{"job_type": "rates", "name": "other", "paused": True} | columns)


def resumed_at(seconds: float, schedule: ScheduleState) -> Any:
    """When it is due next."""
    with at(seconds):
        assert control.resume_schedule(schedule, "ann").moved == [schedule.pk]
    schedule.refresh_from_db()
    return schedule.next_run_at


@pytest.mark.spec("S0.R2")
def test_a_cron_goes_on_with_its_next_slot_and_never_beside_it() -> None:
    nine = T + timedelta(hours=21)
    assert resumed_at(600, other(cron="0 9 * * *", next_run_at=nine)) == nine
    late = other(cron="0 9 * * *", next_run_at=nine, name="late")
    assert resumed_at(22 * HOUR, late) == nine + timedelta(days=1)


def test_a_single_moment_does_not_come_sooner_and_is_not_lost() -> None:
    moment = T + timedelta(hours=1)
    assert resumed_at(600, other(once_at=moment, next_run_at=moment)) == moment
    passed = other(once_at=moment, next_run_at=moment, name="passed")
    assert resumed_at(2 * HOUR, passed) == T + timedelta(hours=2)
    assert made_at(2 * HOUR) == 3
    assert made_at(3 * HOUR) == 1, "only the hourly one"


def test_many_crons_are_resumed_by_a_statement_for_each_of_them(django_assert_max_num_queries: Any) -> None:
    rows = [other(name=f"c{n}", cron=f"{n % 2} 9 * * *", next_run_at=T) for n in range(100)]
    with at(600), django_assert_max_num_queries(8):
        assert len(control.resume_schedule(rows, "ann").moved) == 100
    assert set(ScheduleState.objects.filter(name__startswith="c").values_list("next_run_at", flat=True)) == {
        T + timedelta(hours=21),
        T + timedelta(hours=21, minutes=1),
    }


@pytest.fixture
def many() -> dict[str, int]:
    job(name="mail")(lambda: None)
    columns = {"interval_seconds": 60, "next_run_at": T}
    made = {
        f"{job_type} {subject}": ScheduleState.objects.create(job_type=job_type, subject=subject, **columns).pk
        for job_type in ("rates", "mail")
        for subject in ("a", "b")
    }
    return {"rates": row().pk, **made}


@pytest.mark.spec("S0.R1", "S0.47", "S2.27")
@pytest.mark.parametrize(
    ("wanted", "meant", "target"),
    [
        ({"job_type": "rates"}, {"rates", "rates a", "rates b"}, ("job_type", "rates")),
        ({"subject": "a"}, {"rates a", "mail a"}, ("subject", "a")),
        ({"job_type": "mail", "subject": "b"}, {"mail b"}, ("schedules", "mail b")),
        ({"job_type": "rates", "subject": ""}, {"rates"}, ("schedules", "rates ")),
        ({}, {"rates", "rates a", "rates b", "mail a", "mail b"}, ("schedules", "all")),
    ],
)
def test_all_of_a_job_type_of_a_subject_of_both_or_all_there_are(
    wanted: dict[str, str], meant: set[str], target: tuple[str, str], many: dict[str, int]
) -> None:
    acted = control.pause_schedule(control.schedules_of(**wanted), "ann", "audit")
    assert set(acted.moved) == {many[name] for name in meant}
    assert set(ScheduleState.objects.filter(paused=True).values_list("pk", flat=True)) == set(acted.moved)
    event = ControlEvent.objects.get()
    assert (event.target_kind, event.target, event.moved, event.reason) == (*target, len(meant), "audit")
    assert event.detail == {"schedules": wanted or "all"}  # and not the job type or the subject itself


def test_an_unknown_job_type_is_refused_and_one_that_only_rows_know_is_not(many: dict[str, int]) -> None:
    with pytest.raises(UnknownJobType, match="Did you mean 'rates'"):
        control.schedules_of(job_type="rtes")
    other(job_type="gone", interval_seconds=60)
    assert len(control.resume_schedule(control.schedules_of(job_type="gone"), "ann").moved) == 1
    assert not control.pause_schedule(control.schedules_of(subject="nobody"), "ann")


def test_what_operators_made_and_what_is_gone_from_code_is_deleted_and_its_jobs_stay() -> None:
    by_hand = other(origin="admin", interval_seconds=60, next_run_at=T, paused=False)
    assert made_at(HOUR) == 2
    of_source = other(name="", subject="x", origin="source", interval_seconds=60)
    gone = other(job_type="gone", origin="code", interval_seconds=60, retired=True)
    acted = control.delete_schedule([by_hand, row(), of_source, gone], "ann", "tidy")
    assert acted.moved == [by_hand.pk, gone.pk]
    assert acted.skipped == {
        row().pk: "is declared in code: remove it there, or pause it",
        of_source.pk: "comes from a source and would come back: pause it",
    }
    assert set(ScheduleState.objects.values_list("pk", flat=True)) == {row().pk, of_source.pk}
    assert Job.objects.filter(schedule=by_hand.pk).count() == 1
    event = ControlEvent.objects.get(action="delete")
    assert (event.detail["deleted"], event.reason) == (["rates other", "gone other"], "tidy")


def test_a_restore_is_told_with_what_was_given_up_and_needs_something_to_give_up() -> None:
    with at(60):
        control.change_schedule(row(), "ann", every=60, payload={})
        assert control.restore_schedule(row(), "bob", "as code says").moved == [row().pk]
        assert sync_declared(connection).changed == ["rates"]
    assert (row().interval_seconds, row().overrides) == (HOUR, {})
    event = ControlEvent.objects.get(action="restore")
    assert (event.actor, event.reason, event.detail["overrides"]["rates"]["interval_seconds"]) == (
        "bob",
        "as code says",
        60,
    )
    assert control.restore_schedule(row(), "bob").skipped == {row().pk: "has no overrides"}


def test_a_restored_cron_starts_from_now() -> None:
    with at(60):
        control.change_schedule(row(), "ann", cron="0 9 * * *")
        control.restore_schedule(row(), "ann")
        sync_declared(connection)
    assert (row().cron, row().next_run_at) == ("", T + timedelta(seconds=60))


@pytest.mark.parametrize(
    ("verb", "codename"), [("restore_schedule", "change_schedulestate"), ("delete_schedule", "delete_schedulestate")]
)
def test_a_type_that_asks_for_a_permission_is_left_to_those_who_have_it(verb: str, codename: str) -> None:
    job(name="books", permission="jobs_app.add_job")(lambda: None)
    books = other(job_type="books", origin="admin", interval_seconds=60, overrides={"jitter_seconds": 1})
    act = getattr(control, verb)
    assert act(books, user_with(codename)).skipped == {books.pk: "needs the permission jobs_app.add_job"}
    assert act(books, user_with(codename, "add_job")).moved == [books.pk]


@pytest.mark.parametrize(
    "broken",
    [{"interval_seconds": None, "cron": "now and then"}, {"interval_seconds": 1e300}, {"interval_seconds": 1e12}],
)
def test_one_that_cannot_tell_its_slots_stops_no_act_on_the_others(broken: dict[str, Any]) -> None:
    given = {"job_type": "rates", "interval_seconds": HOUR, "next_run_at": T} | broken
    bad = ScheduleState.objects.create(subject="bad", paused=True, **given)
    every = control.schedules_of(job_type="rates")
    control.pause_schedule(row().pk, "ann")
    with at(HOUR):
        resumed = control.resume_schedule(every, "ann")
        made = control.backfill(every, "ann", start=T + timedelta(hours=1), end=T + timedelta(hours=1))
    assert (resumed.moved, made.moved) == ([row().pk], [row().pk])
    assert all(done.skipped[bad.pk].startswith("cannot tell its slots: ") for done in (resumed, made))
