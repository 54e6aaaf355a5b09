"""Every maintenance window there is, and when it opens."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.window_list import all_windows, openings
from jobs_app.models import MaintenanceWindow
from jobs_app.windows import Window

pytestmark = pytest.mark.django_db

SATURDAY = datetime(2026, 3, 28, 12, tzinfo=UTC)


def test_those_of_settings_come_first_and_all_say_when_they_open(settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "11:50"}
    for name, start, enabled in (("night", time(2), True), ("at rest", time(12), False)):
        MaintenanceWindow.objects.create(name=name, start=start, minutes=30, enabled=enabled)
    MaintenanceWindow.objects.create(name="broken", start=time(1), minutes=10, timezone="Mars/Olympus")
    lines = all_windows(connection, SATURDAY)
    assert [line.name for line in lines] == ["11:50 UTC", "at rest", "broken", "night"]
    of_settings, at_rest, broken, night = lines
    assert of_settings.row is None
    assert of_settings.open is not None
    assert of_settings.open.end == datetime(2026, 3, 28, 12, 10, tzinfo=UTC)
    assert (at_rest.is_enabled, at_rest.open, at_rest.next) == (False, None, None)
    assert (broken.window, "Mars/Olympus" in broken.problem) == (None, True)
    assert night.next is not None
    assert night.next.start == datetime(2026, 3, 29, 2, tzinfo=UTC)


def test_openings_begin_with_the_one_that_is_open_and_follow_the_clocks() -> None:
    window = Window(name="w", start=time(13), minutes=60, timezone="Europe/Berlin", days=frozenset({5, 6}))
    found = [span.start for span in openings(window, SATURDAY, 4)]
    # Clocks go forward on Sunday: 13:00 there is 12:00 in UTC before, and 11:00 after.
    assert found == [
        datetime(2026, 3, 28, 12, tzinfo=UTC),
        datetime(2026, 3, 29, 11, tzinfo=UTC),
        datetime(2026, 4, 4, 11, tzinfo=UTC),
        datetime(2026, 4, 5, 11, tzinfo=UTC),
    ]
