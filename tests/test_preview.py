"""Slots to come, and what changes of clocks do to them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs_app.cron import parse
from jobs_app.preview import Slot, cron_slots, interval_slots

HALF_A_SECOND = datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)


def told(expression: str, zone: str, start: str, count: int) -> list[tuple[str, str]]:
    slots = cron_slots(parse(expression, zone), datetime.fromisoformat(start), count)
    assert all(slot.at == slot.local.astimezone(UTC) for slot in slots)
    return [(f"{slot.local:%d. %H:%M}", slot.note) for slot in slots]


def test_a_time_of_day_that_comes_twice_is_noted() -> None:
    assert told("30 2 * * *", "Europe/Paris", "2026-10-24T12:00Z", 2) == [
        ("25. 02:30", "clocks go back: 02:30 comes twice, the first time counts"),
        ("26. 02:30", ""),
    ]


def test_a_time_of_day_that_is_skipped_is_noted() -> None:
    assert told("30 2 * * *", "Europe/Paris", "2026-03-28T12:00Z", 2) == [
        ("29. 03:00", "02:30 does not exist on this day: runs at the shift"),
        ("30. 02:30", ""),
    ]
    assert told("0-40/20 2 * * *", "Europe/Paris", "2026-03-28T12:00Z", 2) == [
        ("29. 03:00", "02:00 to 02:40 do not exist on this day: one run at the shift"),
        ("30. 02:00", ""),
    ]


def test_what_runs_at_the_time_of_the_shift_anyway_is_not_noted() -> None:
    assert told("0 3 * * *", "Europe/Paris", "2026-03-28T12:00Z", 2) == [("29. 03:00", ""), ("30. 03:00", "")]


def test_a_repetition_tells_both_passes() -> None:
    assert told("*/30 2 * * *", "Europe/Paris", "2026-10-25T00:15Z", 4) == [
        ("25. 02:30", "clocks go back: 02:30 comes twice, both count"),
        ("25. 02:00", "clocks went back: 02:00 for the second time"),
        ("25. 02:30", "clocks went back: 02:30 for the second time"),
        ("26. 02:00", ""),
    ]
    assert told("0 * * * *", "Europe/Paris", "2026-03-29T00:30Z", 2) == [("29. 03:00", ""), ("29. 04:00", "")]
    assert told("20 */30 2 * * *", "Europe/Paris", "2026-10-25T00:15Z", 1) == [
        ("25. 02:30", "clocks go back: 02:30:20 comes twice, both count")
    ]


def test_there_are_none_where_the_calendar_ends() -> None:
    assert [at for at, _ in told("0 0 1 1 *", "UTC", "9996-06-01T00:00Z", 5)] == ["01. 00:00"] * 2


def test_an_interval_is_a_grid_from_its_start() -> None:
    start = datetime(2026, 10, 25, 2, 30, tzinfo=parse("* * * * *", "Europe/Paris").clock.zone)
    slots = interval_slots(2700, start, 2, timezone="Europe/Paris")
    assert [slot.at for slot in slots] == [datetime(2026, 10, 25, *time, tzinfo=UTC) for time in ((1, 15), (2, 0))]
    assert [f"{slot.local:%H:%M%z}" for slot in slots] == ["02:15+0100", "03:00+0100"]
    assert interval_slots(0.5, datetime(2026, 1, 1, tzinfo=UTC), 1) == [Slot(HALF_A_SECOND, HALF_A_SECOND, "")]


def test_an_interval_that_no_clock_can_tell_is_refused() -> None:
    with pytest.raises(ValueError, match="use an interval that a clock can tell"):
        interval_slots(1e-7, datetime(2026, 1, 1, tzinfo=UTC), 3)
