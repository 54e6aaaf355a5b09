"""The events that people watch a scheduler by, each told under its name with the facts that say what to look at."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from jobs_app import job, subjects
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.scheduler import due
from jobs_app.scheduler.loop import Scheduler
from jobs_app.scheduler.reading import read_source
from jobs_app.sources import sources
from jobs_app.testing import run_jobs
from tests.scheduler.schedules import NOON, schedule, tick_at

pytestmark = [pytest.mark.django_db, pytest.mark.spec("S0.R16")]

Told = Callable[[str], list[dict[str, Any]]]
registered: list[str] = []


@pytest.fixture(autouse=True)
def deal() -> Any:
    @job(name="deal", subject="provider", per_hour=4)
    def deal(provider: str, n: int = 0) -> None: ...

    @subjects("deal")
    def providers() -> Any:
        return iter(registered)

    return deal


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(due, "_held", set())
    with frozen_clock(NOON):
        yield


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """The facts of each line that tells this event."""
    caplog.set_level(logging.INFO, "jobs_app")
    return lambda name: [vars(line) for line in caplog.records if getattr(line, "event", "") == name]


def read(*now_registered: str) -> None:
    registered[:] = now_registered
    source = sources.of("deal")
    assert source is not None
    read_source(connection, source, lambda: True)


def test_job_enqueue_failed(told: Told) -> None:
    schedule("deal", subject="f01", payload={"provider": "f01", "n": "three"})
    tick_at(1)
    [facts] = told("job_enqueue_failed")
    assert (facts["job_type"], facts["subject"], facts["schedule"]) == ("deal", "f01", "deal f01")
    assert "PayloadInvalid" in facts["error"]


def test_maintenance_window_active(told: Told, settings: Any, deal: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": [{"start": "12:00", "minutes": 20}]}
    tick_at(1)
    [held] = told("maintenance_window_active")
    assert (held["job_types"], held["until"]) == (["deal"], "2026-01-01T12:20:00+00:00")
    deal.enqueue(provider="f01")
    deal.enqueue(provider="f02")
    run_jobs()
    [_, deferred] = told("maintenance_window_active")
    assert deferred["until"] == "2026-01-01T12:20:00+00:00"
    assert deferred["window"]


def test_job_schedules_deleted(told: Told) -> None:
    read("f01", "f02", "f03")
    read("f01")
    [facts] = told("job_schedules_deleted")
    assert (facts["count"], "providers" in facts["source"]) == (2, True)


def test_job_schedule_deletion_skipped(told: Told) -> None:
    read("f01")
    read()
    [facts] = told("job_schedule_deletion_skipped")
    assert facts["job_types"] == ["deal"]


def test_unknown_job_type(told: Told) -> None:
    schedule("gone", origin="code")
    scheduler = Scheduler(poll=300)
    scheduler._sync()
    scheduler._sync()
    assert [facts["job_type"] for facts in told("unknown_job_type")] == ["gone"]


def test_scheduler_tick_skipped(told: Told) -> None:
    Scheduler(poll=1e-9)._tick()
    [facts] = told("scheduler_tick_skipped")
    assert facts["poll_seconds"] == 1e-9
