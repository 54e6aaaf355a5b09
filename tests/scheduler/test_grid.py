"""The grid of an interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.scheduler.grid import turn

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("late", "slot", "following"), [(0, 0, 15), (14.999, 0, 15), (15, 15, 30), (31, 30, 45), (86_400, 86_400, 86_415)]
)
@pytest.mark.spec("S0.22")
def test_the_newest_slot_that_passed_and_the_first_that_has_not(late: float, slot: float, following: float) -> None:
    due = turn(NOON, 15, NOON + timedelta(seconds=late))
    assert (due.slot, due.next_run_at) == (NOON + timedelta(seconds=slot), NOON + timedelta(seconds=following))


@given(
    interval=st.floats(min_value=1e-6, max_value=1e8),
    late=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)),
)
def test_slots_are_whole_intervals_apart_however_late_it_is(interval: float, late: timedelta) -> None:
    due = turn(NOON, interval, NOON + late)
    assert due.slot <= NOON + late < due.next_run_at
    assert due.next_run_at - due.slot == timedelta(seconds=interval)
    assert (due.slot - NOON) % timedelta(seconds=interval) == timedelta(0)


def test_an_interval_below_the_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than a clock can tell"):
        turn(NOON, 1e-9, NOON)
