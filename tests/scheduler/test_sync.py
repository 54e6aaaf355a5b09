"""Schedules of code become rows, and leave with the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ScheduleState
from jobs_app.registry import registry
from jobs_app.scheduler.sync import Synced, sync_declared
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


@pytest.mark.spec("S0.1", "S2.15")
def test_a_schedule_of_code_is_one_row_that_is_due_at_once() -> None:
    declare(every=15)
    assert sync_declared(connection).created == ["beat"]
    row = the_row()
    assert (row.job_type, row.subject, row.name, row.origin) == ("beat", "", "", "code")
    assert (row.interval_seconds, row.next_run_at, row.last_run_at, row.paused) == (15, NOON, None, False)


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


def test_a_pause_and_overrides_of_an_operator_stay() -> None:
    declare(every=15)
    sync_declared(connection)
    ScheduleState.objects.update(paused=True, interval_seconds=60, overrides={"interval_seconds": 60})
    assert sync_declared(connection) == NOTHING
    assert (the_row().paused, the_row().interval_seconds) == (True, 60)


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


def test_a_type_that_a_living_process_knows_is_not_gone() -> None:
    """A scheduler with the old code, started again in the middle of a deploy."""
    schedule("new-type")
    announce(connection, Presence(id="host-1-abc", job_types=["new-type"]))
    assert sync_declared(connection) == NOTHING
    with frozen_clock(after(31)):
        assert sync_declared(connection).retired == ["new-type"]


def test_rows_of_operators_and_subjects_are_not_its_business() -> None:
    schedule("gone", name="by hand", origin="admin")
    schedule("gone", subject="tenant-1", origin="source")
    assert sync_declared(connection) == NOTHING


def test_a_row_that_an_operator_made_first_stays_as_it_is() -> None:
    declare(every=15)
    schedule("beat", origin="admin", interval_seconds=60)
    sync_declared(connection)
    assert (the_row().interval_seconds, the_row().origin) == (60, "admin")
