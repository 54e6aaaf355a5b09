"""Schedules made by hand: what is wrong is refused and not stored, what is right is there at the next tick."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied
from django.db import connection

from jobs_app import job, subjects
from jobs_app.errors import JobsError, OptionInvalid, PayloadInvalid, UnknownJobType
from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, Job, ScheduleState
from jobs_app.scheduler.sync import sync_declared
from tests.lifecycle.planned import BAD_WHENS, HOUR, NINE, add, change, define_types, made_at, row
from tests.lifecycle.rows import T, at
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def types() -> None:
    define_types()


def user_with(*codenames: str) -> User:
    user = User.objects.create_user("ann")
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs_app", codename__in=codenames))
    return User.objects.get()


@pytest.mark.spec("S2.27")
def test_an_added_interval_is_due_at_the_next_tick_and_then_at_each_slot() -> None:
    acted = add(every="15m", payload={"n": 3})
    assert acted.moved == [row().pk]
    assert (row().origin, row().next_run_at, row().interval_seconds, row().overrides) == ("admin", T, 900, {})
    assert made_at(1) == [T]
    assert Job.objects.get(job_type="report").payload == {"n": 3}
    assert made_at(2) == []
    assert made_at(900) == [T + timedelta(minutes=15)]
    with at(901):
        assert sync_declared(connection) == ([], [], [], [])


def test_an_added_cron_comes_with_its_next_slot() -> None:
    add(cron="0 9 * * *", timezone="Europe/Berlin")
    assert (row().cron, row().timezone, row().next_run_at) == ("0 9 * * *", "Europe/Berlin", NINE - timedelta(hours=1))
    assert made_at(19 * HOUR) == []
    assert made_at(20 * HOUR) == [NINE - timedelta(hours=1)]


@pytest.mark.spec("S2.29")
def test_a_single_moment_is_taken_once() -> None:
    add(at=T + timedelta(hours=1))
    assert made_at(HOUR - 1) == []
    assert made_at(HOUR) == [T + timedelta(hours=1)]
    assert (row().next_run_at, row().last_slot) == (None, T + timedelta(hours=1))
    assert made_at(2 * HOUR) == []
    assert made_at(9999 * HOUR) == []
    assert control.trigger_schedule(row(), "ann").skipped == {row().pk: "has had its last slot"}


@pytest.mark.spec("S2.29")
def test_a_single_moment_that_was_taken_can_be_given_another() -> None:
    add(at=T + timedelta(hours=1))
    made_at(HOUR)
    change("report", 2 * HOUR, payload={"n": 1})
    assert row().next_run_at is None, "another payload brings nothing back"
    change("report", 2 * HOUR, at=T + timedelta(hours=3))
    assert made_at(3 * HOUR) == [T + timedelta(hours=3)]
    assert made_at(4 * HOUR) == []


def test_what_an_added_schedule_does_not_say_the_job_type_says() -> None:
    with at(0):
        control.add_schedule("rates", "ann", subject="eur")
        control.add_schedule("rates", "ann", name="nightly", cron="0 9 * * *", spread=5, catch_up="skip")
    eur, nightly = row("rates", subject="eur"), row("rates", name="nightly")
    assert (eur.interval_seconds, eur.spread_seconds, eur.catch_up) == (3600, 60, "all")
    assert (nightly.interval_seconds, nightly.spread_seconds, nightly.catch_up) == (None, 5, "skip")


def test_an_added_interval_may_have_a_phase() -> None:
    add(every="15m", phase="2m")
    assert row().next_run_at == T + timedelta(minutes=2)


def test_a_type_has_further_schedules_by_name_and_by_subject() -> None:
    for names in ({}, {"name": "second"}, {"subject": "x"}, {"subject": "x", "name": "second"}):
        add(every=60, **names)
    assert len(made_at(0)) == 4


def test_what_was_added_is_told_and_secrets_are_not() -> None:
    add(every="15m", subject="x", payload={"token": "t"}, catch_up_window="6h")
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.reason, event.moved) == ("ann", "add", "they asked", 1)
    assert (event.target_kind, event.target) == ("schedule", "report x")
    assert event.detail == {
        "when": "every 15m",
        "set": {"payload": {"token": "[hidden]"}, "catch_up_window_seconds": 21600},
    }


BAD_OPTIONS = [
    ({"evry": 60}, "there is no option 'evry'. Did you mean 'every'?"),
    ({"every": 60, "catch_up": "some"}, "use one of all, once, skip"),
    ({"every": 60, "catch_up_max": 0}, "use a whole number from 1"),
    ({"every": 60, "overlap": "never"}, "use one of allow, skip, queue_one"),
    ({"every": 60, "payload": {"n": "three"}}, "job 'report': n:"),
    ({"every": 60, "payload": {"m": 3}}, "m: is unknown. Known: day, n, token."),
    ({"every": 60, "payload": {"token": "x" * 2_000_000}}, "more than the"),
    ({"every": 60, "payload": [1]}, "use a dict"),
]


@pytest.mark.parametrize(("options", "message"), BAD_WHENS + BAD_OPTIONS)
def test_what_cannot_be_is_refused_and_nothing_added(options: dict[str, Any], message: str) -> None:
    with pytest.raises(JobsError) as caught:
        add(**options)
    assert message in str(caught.value)
    assert_nothing_done("report")


def assert_nothing_done(job_type: str) -> None:
    assert not ScheduleState.objects.filter(job_type=job_type).exists()
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"subject": 7}, "subject=7 cannot be used"),
        ({"subject": "x" * 201}, "use text of 0 to 200 characters"),
        ({"name": "by hand"}, "name='by hand' cannot be used"),
        ({"name": None}, "name=None cannot be used"),
    ],
)
def test_a_name_that_cannot_be_is_refused(names: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionInvalid, match=message):
        add(every=60, **names)
    assert_nothing_done("report")


def test_a_schedule_needs_a_time_and_a_type() -> None:
    with pytest.raises(OptionInvalid, match=r"when\? Give every=, per_hour=, cron= or at="):
        add(payload={"n": 1})
    with pytest.raises(UnknownJobType, match="Did you mean 'report'"):
        control.add_schedule("reprt", "ann", every=60)
    assert_nothing_done("report")


def test_a_payload_from_which_the_type_cannot_tell_its_subject_is_refused() -> None:
    job(name="shops", subject=lambda payload: payload["shop"])(lambda shop="": None)
    with pytest.raises(PayloadInvalid, match="its subject cannot be told"):
        control.add_schedule("shops", "ann", every=60)
    assert_nothing_done("shops")
    control.add_schedule("shops", "ann", every=60, payload={"shop": "s-1"})


def test_a_name_that_is_taken_is_refused() -> None:
    add(every=60, subject="x")
    with pytest.raises(
        OptionInvalid, match=r"there is a schedule report x already\. Change that one, or give this one"
    ):
        add(every=90, subject="x")
    assert (row().interval_seconds, ControlEvent.objects.count()) == (60, 1)


def test_the_schedule_of_code_is_not_made_by_hand_also_before_it_is_a_row() -> None:
    ScheduleState.objects.filter(job_type="rates").delete()
    with pytest.raises(OptionInvalid, match="there is a schedule rates already"):
        control.add_schedule("rates", "ann", every=60)
    assert_nothing_done("rates")
    subjects("rates")(lambda: ["eur"])  # code now says: one for each subject, and none without
    assert control.add_schedule("rates", "ann", every=60)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_add_the_same_at_once_one_is_refused() -> None:
    with sessions(2) as (first, second):
        first.begin()
        assert first.do(add_it)
        other = second.start(add_it)
        second.until_blocked(other)
        first.commit()
        with pytest.raises(OptionInvalid, match="there is a schedule report already"):
            other.result(timeout=60)
    assert (ScheduleState.objects.filter(job_type="report").count(), ControlEvent.objects.count()) == (1, 1)


def add_it() -> control.Acted:
    return control.add_schedule("report", "ann", every=60)


def test_a_payload_is_stored_as_json() -> None:
    add(every=60, payload={"day": date(2026, 1, 31)})
    assert row().payload == {"day": "2026-01-31"}
    assert len(made_at(0)) == 1


def test_a_type_that_asks_for_a_permission_is_planned_by_those_who_have_it() -> None:
    ann = user_with("add_schedulestate", "change_schedulestate")
    with pytest.raises(PermissionDenied, match=r"add: ann has no permission jobs_app\.add_job"):
        control.add_schedule("books", ann, every=60)
    control.add_schedule("books", "nightly clean-up", every=60)
    with pytest.raises(PermissionDenied, match=r"change: ann has no permission jobs_app\.add_job"):
        control.change_schedule(row("books"), ann, every=90)
    assert row("books").interval_seconds == 60
    ann.user_permissions.add(Permission.objects.get(codename="add_job"))
    ann = User.objects.get()
    assert control.change_schedule(row("books"), ann, every=90)
    assert control.add_schedule("books", ann, subject="x", every=60)


def test_what_came_back_elsewhere_goes_on_with_the_slot_it_stood_at() -> None:
    for name, options in {"interval": {"every": "1h"}, "cron": {"cron": "30 * * * *"}}.items():
        add(name=name, from_slot=T - timedelta(minutes=45), **options)
    assert row(name="interval").next_run_at == T - timedelta(minutes=45)
    assert row(name="cron").next_run_at == T - timedelta(minutes=30)  # its first from there on


def test_a_change_may_move_the_slot_alone() -> None:
    change("rates", from_slot=T + timedelta(minutes=7))
    assert row("rates").next_run_at == T + timedelta(minutes=7)
    assert row("rates").overrides == {}
    told = {"changed": {}, "next_run_at": (T + timedelta(minutes=7)).isoformat()}
    assert ControlEvent.objects.latest("pk").detail == told


def test_a_slot_without_a_zone_is_refused() -> None:
    with pytest.raises(OptionInvalid, match=r"from_slot=.*it has no time zone"):
        add(every="1h", from_slot=T.replace(tzinfo=None))
    assert not ScheduleState.objects.filter(job_type="report").exists()


def test_a_single_moment_that_is_past_comes_once_if_its_slot_is_given() -> None:
    missed = T - timedelta(minutes=45)
    add(at=missed, from_slot=missed)
    assert row().next_run_at == missed
    assert made_at(1) == [missed]
    assert made_at(24 * HOUR) == []
