"""Schedules of code become rows, and leave with the code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job, subjects
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ScheduleState
from jobs_app.registry import registry
from jobs_app.scheduler.sync import Synced, sync_declared
from jobs_app.scheduler.tick import tick
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db

NOTHING = Synced([], [], [], [])


def declare(**options: Any) -> None:
    @job(**options)
    def beat() -> None: ...


def the_row() -> ScheduleState:
    return ScheduleState.objects.get(job_type="beat")


@pytest.fixture(autouse=True)
def at_noon() -> Any:
    with frozen_clock(NOON):
        yield


@pytest.mark.spec("S0.1", "S0.2", "S2.15")
def test_a_schedule_of_code_is_one_row_that_is_due_at_once() -> None:
    declare(every=15)
    assert sync_declared(connection).created == ["beat"]
    row = the_row()
    assert (row.job_type, row.subject, row.name, row.origin) == ("beat", "", "", "code")
    assert (row.interval_seconds, row.next_run_at, row.last_run_at, row.paused) == (15, NOON, None, False)
    assert row.created_at == row.updated_at == NOON


@pytest.mark.spec("S2.15")
def test_repeating_it_changes_nothing() -> None:
    declare(every=15)
    sync_declared(connection)
    before = ScheduleState.objects.values().get()
    with frozen_clock(after(100)):
        assert sync_declared(connection) == NOTHING
    assert ScheduleState.objects.values().get() == before


@pytest.mark.spec("S0.R3")
def test_another_interval_counts_from_the_slot_that_is_next_anyway() -> None:
    declare(every=15)
    sync_declared(connection)
    declare(every="1h")
    with frozen_clock(after(7)):
        assert sync_declared(connection).changed == ["beat"]
    assert (the_row().interval_seconds, the_row().next_run_at) == (3600, NOON)


@pytest.mark.spec("S2.R6")
def test_a_pause_and_overrides_of_an_operator_stay() -> None:
    declare(every=15)
    sync_declared(connection)
    ScheduleState.objects.update(paused=True, interval_seconds=60, overrides={"interval_seconds": 60})
    assert sync_declared(connection) == NOTHING
    assert (the_row().paused, the_row().interval_seconds) == (True, 60)


@pytest.mark.spec("S2.R6")
@pytest.mark.parametrize("leave", [lambda: registry.unregister("beat"), declare])
def test_a_schedule_gone_from_code_is_retired_and_comes_back_with_it(leave: Callable[[], None]) -> None:
    declare(every=15)
    sync_declared(connection)
    leave()
    assert sync_declared(connection).retired == ["beat"]
    assert the_row().retired
    assert sync_declared(connection) == NOTHING
    declare(every=15)
    assert sync_declared(connection).returned == ["beat"]
    assert not the_row().retired


@pytest.mark.parametrize(("away", "stands_at"), [(600, after(60)), (7200, after(7200))])
def test_what_another_version_of_the_code_retired_goes_on_where_it_stood_and_after_long_from_now(
    away: float, stands_at: datetime
) -> None:
    declare(every=60)
    sync_declared(connection)
    tick(connection)
    declare()  # code that knows the type and has no schedule for it
    sync_declared(connection)
    declare(every=60)
    with frozen_clock(after(away)):
        assert sync_declared(connection).returned == ["beat"]
    assert the_row().next_run_at == stands_at


def test_one_that_comes_back_with_an_override_keeps_to_it() -> None:
    declare(every=60)
    sync_declared(connection)
    control.change_schedule(the_row().pk, "ann", cron="0 9 * * *")
    declare()
    sync_declared(connection)
    declare(every=60)
    with frozen_clock(after(7200)):
        sync_declared(connection)
    assert (the_row().cron, the_row().next_run_at) == ("0 9 * * *", NOON + timedelta(hours=21))


def test_one_that_an_operator_let_happen_once_does_not_come_back_with_another_payload() -> None:
    declare(every=60)
    sync_declared(connection)
    control.change_schedule(the_row().pk, "ann", at=after(60))
    with frozen_clock(after(60)):
        assert len(tick(connection).made) == 1
        declare(every=60, catch_up="skip")
        assert sync_declared(connection).changed == ["beat"]
    assert the_row().next_run_at is None


def test_a_type_that_a_living_process_knows_is_not_gone() -> None:
    """A scheduler with the old code, started again in the middle of a deploy."""
    schedule("new-type")
    announce(connection, Presence(id="host-1-abc", job_types=["new-type"]))
    assert sync_declared(connection) == NOTHING
    with frozen_clock(after(31)):
        assert sync_declared(connection).retired == ["new-type"]


@pytest.mark.spec("S0.R12")
def test_rows_of_a_type_gone_from_code_are_retired_whoever_made_them() -> None:
    schedule("gone", name="by hand", origin="admin")
    schedule("gone", subject="tenant-1", origin="source")
    assert sync_declared(connection).retired == ["gone"]
    assert ScheduleState.objects.filter(retired=True).count() == 2
    assert sync_declared(connection) == NOTHING


def test_an_operators_row_comes_back_with_its_type() -> None:
    schedule("beat", name="by hand", origin="admin")
    sync_declared(connection)
    declare()
    assert sync_declared(connection).returned == ["beat"]
    assert not the_row().retired
    assert sync_declared(connection) == NOTHING


def test_rows_of_a_source_that_is_gone_from_code_are_retired() -> None:
    declare()
    schedule("beat", subject="tenant-1", origin="source")
    schedule("beat", subject="tenant-1", name="by hand", origin="admin")
    assert sync_declared(connection).retired == ["beat"]
    assert [row.origin for row in ScheduleState.objects.filter(retired=True)] == ["source"]


@pytest.mark.spec("S2.4", "S2.24", "A2.6")
def test_a_cron_is_one_row_that_waits_for_its_slot_and_another_cron_takes_its_place() -> None:
    declare(cron="0 9 * * *")
    for _ in range(2):
        sync_declared(connection)
    assert (the_row().cron, the_row().timezone, the_row().interval_seconds) == ("0 9 * * *", "UTC", None)
    assert the_row().next_run_at == NOON + timedelta(hours=21)
    assert not tick(connection).made
    declare(cron="30 14 * * *", timezone="Europe/Berlin")
    assert sync_declared(connection).changed == ["beat"]
    assert (the_row().cron, the_row().next_run_at) == ("30 14 * * *", NOON + timedelta(hours=1, minutes=30))
    with frozen_clock(NOON + timedelta(hours=1, minutes=30)):
        assert [made.slot for made in tick(connection).made] == [NOON + timedelta(hours=1, minutes=30)]


def test_what_code_says_besides_the_time_is_kept_in_the_row_too() -> None:
    declare(every=15, catch_up="all", catch_up_max=3, catch_up_window="6h", spread="1h", jitter=30, overlap="skip")
    sync_declared(connection)
    row = the_row()
    assert (row.catch_up, row.catch_up_max, row.catch_up_window_seconds, row.overlap) == ("all", 3, 21600, "skip")
    assert (row.spread_seconds, row.jitter_seconds) == (3600, 30)
    declare(every=15, catch_up="skip")
    assert sync_declared(connection).changed == ["beat"]
    row = the_row()
    assert (row.catch_up, row.catch_up_max, row.catch_up_window_seconds, row.overlap) == ("skip", 10, None, "allow")


def test_a_payload_in_types_that_json_has_not_is_kept_as_its_jobs_have_it() -> None:
    @job(every=15, payload={"day": date(2026, 1, 31), "hours": (9, 17)})
    def beat(day: date, hours: Any) -> None: ...

    assert sync_declared(connection).created == ["beat"]
    assert the_row().payload == {"day": "2026-01-31", "hours": [9, 17]}
    assert sync_declared(connection) == NOTHING


def test_a_payload_that_does_not_fit_keeps_no_other_schedule_from_its_row() -> None:
    @job(every=15, subject="tenant", payload={"tenant": object()})
    def unfit(tenant: str) -> None: ...

    declare(every=15)
    assert sorted(sync_declared(connection).created) == ["beat", "unfit"]
    assert [made.job_type for made in tick(connection).made] == ["beat"]
    assert "tenant" in ScheduleState.objects.get(job_type="unfit").last_error


@pytest.mark.spec("S0.19", "S0.43", "A0.8")
def test_a_phase_puts_off_the_first_slot_and_nothing_else(settings: Any) -> None:
    settings.JOBS = {"SCHEDULE_PHASE_SECONDS": 1200}
    declare(every=900)
    sync_declared(connection)
    assert the_row().next_run_at == after(1200)
    settings.JOBS = {"SCHEDULE_PHASE_SECONDS": 60}
    assert sync_declared(connection) == NOTHING
    assert the_row().next_run_at == after(1200)


def test_a_type_with_a_source_has_no_schedule_of_its_own() -> None:
    declare(every=15)
    sync_declared(connection)
    subjects("beat")(lambda: ["a"])
    assert sync_declared(connection).retired == ["beat"]
    assert the_row().retired


def test_a_row_that_an_operator_made_first_stays_as_it_is() -> None:
    declare(every=15)
    schedule("beat", origin="admin", interval_seconds=60)
    sync_declared(connection)
    assert (the_row().interval_seconds, the_row().origin) == (60, "admin")


def test_overrides_that_are_none_stop_nothing() -> None:
    declare(every=15)
    sync_declared(connection)
    ScheduleState.objects.update(overrides=5)
    declare(every=30)
    assert sync_declared(connection).changed == ["beat"]
    assert the_row().interval_seconds == 30
