"""Clocks that differ, and time zones that are not known here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs_app import wall_clock
from jobs_app.insights.doctor.clocks import clock_skew, schedule_zone_unknown, time_zone_unknown
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ScheduleState
from tests.insights.doctor.looking import look, on_postgres

pytestmark = pytest.mark.django_db


def schedule(zone: str, **columns: Any) -> ScheduleState:
    return ScheduleState.objects.create(job_type="report", cron="0 3 * * *", timezone=zone, **columns)


@pytest.fixture
def no_zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A slim image without tzdata."""
    monkeypatch.setattr(wall_clock, "zone_names", frozenset)
    wall_clock.clock.cache_clear()
    yield
    wall_clock.clock.cache_clear()


@on_postgres
@pytest.mark.parametrize(
    ("seconds", "level", "told"),
    [(30, "warning", "ahead of"), (-30, "warning", "behind"), (3600, "problem", "ahead of")],
)
def test_clocks_that_differ_are_a_warning_and_then_a_problem(seconds: int, level: str, told: str) -> None:
    assert look(clock_skew).level == "ok"
    with frozen_clock(datetime.now(UTC) + timedelta(seconds=seconds)):
        found = look(clock_skew)
    assert (found.level, told in found.sentence) == (level, True)


def test_a_time_zone_that_nobody_knows_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(time_zone_unknown).level == "ok"
    monkeypatch.setattr("django.conf.settings.TIME_ZONE", "Europe/Atlantis")
    found = look(time_zone_unknown)
    assert (found.level, found.advice) == ("problem", "Correct settings.TIME_ZONE.")


@pytest.mark.usefixtures("no_zones")
def test_where_no_zones_are_installed_only_utc_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.TIME_ZONE", "UTC")
    assert look(time_zone_unknown).level == "ok"
    monkeypatch.setattr("django.conf.settings.TIME_ZONE", "Europe/Paris")
    assert "tzdata" in look(time_zone_unknown).advice


def test_a_schedule_in_a_zone_that_nobody_knows_is_a_problem() -> None:
    schedule("Europe/Paris", name="fine")
    schedule("UTC", name="too")
    schedule("Mars/Olympus", name="gone", retired=True)
    assert look(schedule_zone_unknown).level == "ok"
    schedule("Europe/Atlantis")
    found = look(schedule_zone_unknown)
    assert (found.level, "not known here: Europe/Atlantis." in found.sentence) == ("problem", True)
