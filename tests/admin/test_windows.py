"""The pages of maintenance windows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

import pytest

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, MaintenanceWindow
from tests.admin.conftest import Visitor

pytestmark = pytest.mark.django_db

Url = Callable[..., str]
NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)  # a Saturday; clocks go forward in Europe the next day
GIVEN = {"name": "backup", "start": "03:30", "minutes": "20", "timezone": "Europe/Berlin"}


@pytest.fixture(autouse=True)
def import_rows() -> None:
    job(name="import_rows")(lambda: None)


@pytest.fixture
def window() -> MaintenanceWindow:
    return MaintenanceWindow.objects.create(name="backup", start=time(11, 50), minutes=20, queues=["mail"])


@pytest.mark.spec("S0.47")
def test_the_list_has_windows_of_settings_and_operators_and_when_they_open(
    visitor: Visitor, page_url: Url, settings: Any, window: MaintenanceWindow
) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "07:00"}
    with frozen_clock(NOON):
        page = visitor().get(page_url("maintenancewindow_changelist")).content.decode()
    assert page.index("07:00 UTC") < page.index("backup")
    assert "11:50 for 20 min, UTC, every day" in page
    assert ">mail</a>" in page
    assert "all work" in page
    assert page_url("maintenancewindow_edit", window.pk) not in page
    assert MaintenanceWindow.objects.count() == 1


def test_a_window_is_added_with_what_it_covers(visitor: Visitor, page_url: Url) -> None:
    data = {**GIVEN, "days": ["5", "6"], "queues": "mail, sync", "job_types": ["import_rows"], "reason": "the disk"}
    answer = visitor("add_maintenancewindow").post(page_url("maintenancewindow_add"), data)
    assert answer.status_code == 302
    row = MaintenanceWindow.objects.get()
    assert (row.name, row.start, row.minutes, row.timezone) == ("backup", time(3, 30), 20, "Europe/Berlin")
    assert (row.days, row.queues, row.job_types, row.enabled) == ([5, 6], ["mail", "sync"], ["import_rows"], True)
    event = ControlEvent.objects.get()
    assert (event.action, event.target_kind, event.target, event.reason) == ("add", "window", "backup", "the disk")


def test_a_preview_has_the_next_openings_in_both_zones(visitor: Visitor, page_url: Url) -> None:
    with frozen_clock(NOON):
        page = visitor("add_maintenancewindow").post(page_url("maintenancewindow_add"), {**GIVEN, "preview": "1"})
    told = page.content.decode()
    # After the clocks went forward 03:30 in Berlin is 01:30 in UTC.
    assert "03:30:00 CEST" in told
    assert "2026-03-29" in told or "03/29/2026" in told
    assert "01:30:00 UTC" in told or "20:30:00 CDT" in told
    assert told.count("CEST") == 5
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"timezone": "Mars/Olympus"}, "It cannot be used"),
        ({"minutes": "1441"}, "less than or equal to 1440"),
        ({"start": "25:00"}, "Enter a valid time"),
        ({"queues": "jobs.system"}, "never stopped"),
        ({"job_types": ["nobody"]}, "nobody is not one of the available choices"),
    ],
)
def test_what_cannot_be_is_told_beside_the_field(
    change: dict[str, Any], told: str, visitor: Visitor, page_url: Url
) -> None:
    answer = visitor("add_maintenancewindow").post(page_url("maintenancewindow_add"), {**GIVEN, **change})
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not MaintenanceWindow.objects.exists()


def test_a_window_is_changed_disabled_enabled_and_removed(
    visitor: Visitor, page_url: Url, window: MaintenanceWindow
) -> None:
    client = visitor("change_maintenancewindow", "delete_maintenancewindow")
    data = {"start": "12:00", "minutes": "30", "timezone": "UTC", "queues": ""}
    assert client.post(page_url("maintenancewindow_edit", window.pk), data).status_code == 302
    window.refresh_from_db()
    assert (window.start, window.minutes, window.queues) == (time(12), 30, [])
    for act, enabled in (("disable", False), ("enable", True)):
        assert client.get(page_url(f"maintenancewindow_{act}", window.pk)).status_code == 200
        assert client.post(page_url(f"maintenancewindow_{act}", window.pk)).status_code == 302
        window.refresh_from_db()
        assert window.enabled is enabled
    assert client.post(page_url("maintenancewindow_remove", window.pk), {"reason": "over"}).status_code == 302
    assert not MaintenanceWindow.objects.exists()
    assert client.get(page_url("maintenancewindow_remove", window.pk)).status_code == 404
    assert [event.action for event in ControlEvent.objects.order_by("pk")] == ["change"] * 3 + ["remove"]


def test_a_row_that_cannot_be_read_is_shown_and_can_be_mended(visitor: Visitor, page_url: Url) -> None:
    row = MaintenanceWindow.objects.create(
        name="<i>", start=time(1), minutes=9999, timezone="Mars", days={}, queues=7, job_types=[{}]
    )
    client = visitor("change_maintenancewindow", "delete_maintenancewindow")
    page = client.get(page_url("maintenancewindow_changelist")).content.decode()
    assert "cannot be read" in page
    assert "<i>" not in page
    for act in ("edit", "enable", "disable", "remove"):
        assert client.get(page_url(f"maintenancewindow_{act}", row.pk)).status_code == 200
    data = {"start": "01:00", "minutes": "10", "timezone": "UTC"}
    assert client.post(page_url("maintenancewindow_edit", row.pk), data).status_code == 302
    assert MaintenanceWindow.objects.get().as_window().minutes == 10


def test_no_window_at_all_is_said(visitor: Visitor, page_url: Url) -> None:
    page = visitor().get(page_url("maintenancewindow_changelist")).content.decode()
    assert "work may start at any time" in page
