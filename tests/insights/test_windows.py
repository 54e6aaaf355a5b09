"""Which maintenance windows are open, and which of them a run waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import runs, windows
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import MaintenanceWindow
from jobs_app.registry import SYSTEM_QUEUE
from tests.by_hand import HandWorker

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 1, 7, 5, tzinfo=UTC)
END = datetime(2026, 1, 1, 7, 20, tzinfo=UTC)


@pytest.fixture(autouse=True)
def opened(settings: Any) -> Any:
    """It is five past seven."""
    settings.JOBS = {"MAINTENANCE_WINDOWS": "08:00,07:00"}
    MaintenanceWindow.objects.create(name="mail", start="06:50", minutes=60, queues=["mail"])
    with frozen_clock(NOW):
        yield


@pytest.fixture
def send() -> Any:
    @job(name="send")
    def send() -> None: ...

    return send


def deferred(run: Any) -> tuple[datetime, str] | None:
    found = windows.holding(connection, runs.get(run.id), NOW)
    return found and (found.until, found.window.name)


def test_those_of_settings_and_rows_are_told_while_they_are_open() -> None:
    assert [(each.window.name, each.span.end) for each in windows.open_now(connection, NOW)] == [
        ("07:00 UTC", END),
        ("mail", END.replace(minute=50)),
    ]
    assert [each.window.name for each in windows.open_now(connection, END)] == ["mail"]


def test_a_run_that_waits_is_deferred_by_the_first_and_until_no_other_is_open(send: Any) -> None:
    assert deferred(send.enqueue()) == (END, "07:00 UTC")
    assert deferred(send.options(queue="mail").enqueue()) == (END.replace(minute=50), "07:00 UTC")


def test_so_is_one_that_is_due_before_the_window_ends(send: Any) -> None:
    assert deferred(send.options(run_at=END).enqueue()) == (END, "07:00 UTC")
    assert deferred(send.options(run_at=END.replace(minute=21)).enqueue()) is None


def test_what_runs_and_the_apps_own_chores_are_not(send: Any) -> None:
    running = send.enqueue()
    assert [claimed.id for claimed in HandWorker().claim()] == [running.id]
    assert deferred(running) is None
    assert deferred(job(name="jobs.chore", queue=SYSTEM_QUEUE)(lambda: None).enqueue()) is None
