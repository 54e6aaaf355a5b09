"""Schedules changed by hand: what is given and nothing else, until somebody gives it back to code."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import JobsError, OptionInvalid, PayloadInvalid, UnknownJobType
from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, ScheduleState
from jobs_app.registry import registry
from jobs_app.scheduler.sync import sync_declared
from tests.lifecycle.planned import BAD_WHENS, HOUR, NINE, add, change, define_types, made_at, row
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def types() -> None:
    define_types()


def changed() -> Any:
    return ControlEvent.objects.get(action="change").detail["changed"]


@pytest.mark.spec("S2.27")
def test_another_interval_counts_from_the_slot_that_is_next_anyway() -> None:
    change(every="15m")
    assert row("rates").next_run_at == T + timedelta(hours=1)
    assert made_at(1800, "rates") == []
    assert made_at(HOUR, "rates") == [T + timedelta(hours=1)]
    assert made_at(HOUR + 900, "rates") == [T + timedelta(hours=1, minutes=15)]


@pytest.mark.spec("S2.27")
def test_a_change_outlives_a_sync_and_is_given_back_by_a_restore() -> None:
    change(every="15m", catch_up="skip")
    with at(120):
        assert sync_declared(connection).changed == []
    assert (row("rates").interval_seconds, row("rates").catch_up) == (900, "skip")
    assert row("rates").overrides["interval_seconds"] == 900
    job_type_says(every="2h", spread=30)
    with at(120):
        assert sync_declared(connection).changed == ["rates"]
    assert (row("rates").interval_seconds, row("rates").spread_seconds) == (900, 30), (
        "what was not changed follows code"
    )
    assert control.restore_schedule(row("rates"), "bob", "no more").moved == [row("rates").pk]
    with at(180):
        assert sync_declared(connection).changed == ["rates"]
    assert (row("rates").interval_seconds, row("rates").catch_up, row("rates").overrides) == (7200, "once", {})
    assert row("rates").next_run_at == T + timedelta(hours=1)


def job_type_says(**options: Any) -> None:
    registry.unregister("rates")
    job(name="rates", **options)(lambda n=0: None)


@pytest.mark.spec("S2.27")
def test_another_cron_counts_from_now() -> None:
    change(cron="0 9 * * *")
    assert (row("rates").interval_seconds, row("rates").next_run_at) == (None, NINE)
    assert made_at(HOUR, "rates") == []
    change(seconds=HOUR, cron="0 10 * * *")
    assert made_at(22 * HOUR, "rates") == [NINE + timedelta(hours=1)]
    change(seconds=23 * HOUR, every="15m")
    assert made_at(23 * HOUR, "rates") == [T + timedelta(hours=23)]


def test_a_cron_keeps_its_zone_and_a_zone_its_cron() -> None:
    add(cron="0 9 * * *", timezone="Europe/Berlin")
    change("report", cron="0 10 * * *")
    assert (row().cron, row().timezone, row().next_run_at) == ("0 10 * * *", "Europe/Berlin", NINE)
    change("report", timezone="UTC")
    assert (row().cron, row().timezone, row().next_run_at) == ("0 10 * * *", "UTC", NINE + timedelta(hours=1))
    change("report", every=60)
    assert (row().cron, row().timezone) == ("", "UTC")


def test_the_same_cron_again_keeps_its_place() -> None:
    add(cron="0 9 * * *", catch_up="once")
    change("report", 23 * HOUR, cron="0 9 * * *")
    assert made_at(23 * HOUR) == [NINE], "it was due, and no change of the clock took its slot"


def test_what_is_not_given_stays_and_none_is_what_is_usual() -> None:
    change(catch_up="skip", catch_up_window="6h", spread="5m", overlap="skip", payload={"n": 1})
    change(jitter=5)
    now = row("rates")
    assert (now.catch_up, now.catch_up_window_seconds, now.spread_seconds) == ("skip", 21600, 300)
    assert (now.overlap, now.payload, now.jitter_seconds, now.interval_seconds) == ("skip", {"n": 1}, 5, 3600)
    change(catch_up=None, catch_up_window=None, spread=None, overlap=None, payload=None)
    now = row("rates")
    assert (now.catch_up, now.catch_up_window_seconds, now.spread_seconds) == ("once", None, 60)
    assert (now.overlap, now.payload) == ("allow", {})


def test_what_changed_is_told_and_only_that_and_no_secrets() -> None:
    add(every=60)
    with at(60):
        control.change_schedule(row(), "bob", "too often", every=90, payload={"token": "t"}, catch_up="once")
    event = ControlEvent.objects.get(action="change")
    assert (event.actor, event.reason, event.moved, event.target) == ("bob", "too often", 1, "report")
    assert event.detail["changed"] == {
        "interval_seconds": {"from": 60, "to": 90},
        "payload": {"from": {}, "to": {"token": "[hidden]"}},
    }
    assert row().overrides == {}, "nobody else has a word in what an operator made"


def test_a_moment_is_told_and_kept_as_text() -> None:
    change(at=T + timedelta(hours=5))
    assert changed()["once_at"] == {"from": None, "to": "2026-01-01T17:00:00+00:00"}
    assert row("rates").overrides["once_at"] == "2026-01-01T17:00:00+00:00"
    with at(120):
        assert sync_declared(connection).changed == []
    assert row("rates").next_run_at == T + timedelta(hours=5)


def test_a_change_is_dated_by_the_clock_that_ticks_use() -> None:
    change(every=60)
    assert row("rates").updated_at == T + timedelta(seconds=60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *BAD_WHENS[:2],
        ({"timezone": "Europe/Berlin"}, "timezone= is about cron="),
        ({"at": T}, "has passed"),
        *BAD_WHENS[6:],
        ({"evry": 60}, "there is no option 'evry'"),
        ({"payload": {"n": "three"}}, "job 'rates': n:"),
        ({"payload": {"m": 3}}, "m: is unknown"),
        ({"phase": 60}, "phase= is about the first slot of a new schedule"),
        ({"every": None}, "it must come at some time"),
        ({"cron": None}, "it must come at some time"),
        ({"subject": "x"}, "there is no option 'subject'"),
        ({}, "what shall change"),
    ],
)
def test_a_change_that_cannot_be_changes_nothing(options: dict[str, Any], message: str) -> None:
    before = ScheduleState.objects.values().get()
    with pytest.raises(JobsError) as caught:
        change(**options)
    assert message in str(caught.value)
    assert ScheduleState.objects.values().get() == before
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [("rates", "names no schedule"), (999, "there is no schedule 999"), ([], "name one"), ([1, 2], "name one")],
)
def test_one_schedule_is_changed_at_a_time(given: Any, message: str) -> None:
    with pytest.raises(OptionInvalid, match=message):
        control.change_schedule(given, "ann", every=60)
    assert not ControlEvent.objects.exists()


def test_a_change_brings_back_what_was_switched_off_by_failures() -> None:
    ScheduleState.objects.update(payload={"n": "x"}, disabled=True, failures=9, failing_since=T, last_error="bad")
    with pytest.raises(PayloadInvalid):
        change(every=60)
    change(payload={"n": 1})
    now = row("rates")
    assert (now.disabled, now.failures, now.failing_since, now.last_error) == (False, 0, None, "")
    assert made_at(HOUR, "rates") == [T + timedelta(hours=1)]


def test_a_schedule_of_a_type_that_is_gone_is_not_changed() -> None:
    gone = ScheduleState.objects.create(job_type="gone", interval_seconds=60, retired=True)
    with pytest.raises(UnknownJobType, match="'gone' is not registered"):
        control.change_schedule(gone, "ann", every=90)
