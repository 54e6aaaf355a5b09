"""What Prometheus reads from the database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext
from prometheus_client import CollectorRegistry, generate_latest

from jobs_app import job
from jobs_app.insights.gauges import Gauges, read
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.metrics import gauges
from jobs_app.metrics.gauges import DatabaseGauges
from jobs_app.models import Job, ScheduleState, WorkerKind
from tests.metrics.scraping import Page

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def shown(gauges: DatabaseGauges) -> Page:
    registry = CollectorRegistry()
    registry.register(gauges)
    return Page(generate_latest(registry).decode())


def read_now() -> Gauges:
    with frozen_clock(NOON):
        return read(connection)


def page_of(read: Callable[[], Gauges] = read_now) -> Page:
    return shown(DatabaseGauges(read))


@pytest.fixture
def deal(registry_restored: None) -> Any:
    @job(queue="sp.work")
    def deal(sp: str = "") -> None: ...

    @job(queue="sp.work")
    def retrieval() -> None: ...

    return deal


@pytest.mark.spec("A0.8", "S0.R11", "S0.R12", "S0.45")
def test_two_queued_deals_are_two_and_as_old_as_the_older_one(deal: Any) -> None:
    for age in (12, 40):
        with frozen_clock(after(-age)):
            deal.enqueue()
    page = page_of()
    assert page.value("jobs_queued", job_type="deal") == 2
    assert page.value("oldest_queued_age_seconds", job_type="deal") == 40
    assert page.value("jobs_queue_oldest_ready_age_seconds", queue="sp.work") == 40
    for name in ("jobs_queued", "jobs_in_flight", "jobs_retry_scheduled", "jobs_paused", "oldest_queued_age_seconds"):
        assert page.value(name, job_type="retrieval") == 0, name


def test_what_waits_runs_and_comes_back_is_told_apart(deal: Any) -> None:
    with frozen_clock(NOON):
        deal.enqueue()
        deal.options(delay=60).enqueue()
        runs, tried = deal.enqueue(), deal.enqueue()
    Job.objects.filter(pk=runs.id).update(
        state="running", token=runs.id, started_at=after(-90), lease_expires_at=after(60), attempts=1
    )
    Job.objects.filter(pk=tried.id).update(attempts=2)
    page = page_of()
    told = {name: page.value(f"jobs_{name}", job_type="deal") for name in ("queued", "scheduled", "in_flight")}
    assert told == {"queued": 1, "scheduled": 1, "in_flight": 1}
    assert page.value("jobs_retry_scheduled", job_type="deal") == 1
    assert page.value("oldest_in_flight_age_seconds", job_type="deal") == 90


@pytest.mark.parametrize("scope", ["all", "queue", "job_type"])
def test_a_pause_is_seen_whatever_it_stops(deal: Any, scope: str) -> None:
    with frozen_clock(NOON):
        deal.enqueue()
        control.pause(scope, {"all": "", "queue": "sp.work", "job_type": "deal"}[scope], "ann")
    page = page_of()
    assert page.value("jobs_paused", job_type="deal") == 1
    assert page.value("jobs_pauses", scope=scope) == 1
    assert page.value("jobs_queue_paused", queue="sp.work") == (scope != "job_type")


def test_labels_are_what_code_names(deal: Any) -> None:
    with frozen_clock(NOON):
        deal.options(queue="made-up-1").enqueue()
        deal.options(queue="made-up-2").enqueue()
        Job.objects.update(job_type="gone")
    page = page_of()
    assert "made-up" not in page.text
    assert "gone" not in page.text
    assert page.value("jobs_queued", job_type="other") == 2
    assert page.value("jobs_queue_oldest_ready_age_seconds", queue="other") == 0


def test_processes_schedules_and_stale_runs_are_counted(deal: Any) -> None:
    with frozen_clock(NOON):
        announce(connection, Presence(id="a", beat_seconds=10))
        announce(connection, Presence(id="b", kind=WorkerKind.SCHEDULER, beat_seconds=10))
        run = deal.enqueue()
    Job.objects.filter(pk=run.id).update(
        state="running", token=run.id, started_at=NOON, lease_expires_at=after(-600), attempts=1
    )
    for subject, fields in {"due": {}, "paused": {"paused": True}, "gone": {"retired": True}}.items():
        rule: Any = {"interval_seconds": 60, "next_run_at": after(-30), **fields}
        ScheduleState.objects.create(job_type="deal", subject=subject, **rule)
    page = page_of()
    assert page.value("jobs_workers", status="alive") == 1
    assert page.value("jobs_schedulers", status="alive") == 1
    assert page.value("jobs_workers", status="lost") == 0
    assert [page.value("jobs_schedules", status=state) for state in ("active", "paused", "retired")] == [1, 1, 1]
    assert page.value("jobs_schedule_oldest_due_age_seconds", job_type="deal") == 30
    assert page.value("jobs_stale_runs") == 1


def test_tables_are_measured_where_the_database_tells(deal: Any, is_postgres: bool) -> None:
    page = page_of()
    assert (page.value("jobs_table_bytes", table="jobs_app_job") is not None) == is_postgres
    assert (page.value("jobs_oldest_transaction_age_seconds") is not None) == is_postgres


def test_nothing_reads_the_history(deal: Any) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        read(connection)
    assert not [query["sql"] for query in asked if "jobs_app_jobrun" in query["sql"] or "jobattempt" in query["sql"]]


def test_one_reading_is_for_all_who_ask_within_seconds_and_a_slow_one_for_longer(deal: Any) -> None:
    readings: list[float] = []
    now = [0.0]

    def slow() -> Gauges:
        readings.append(now[0])
        now[0] += 2  # so long it takes
        return read_now()

    gauges = DatabaseGauges(slow, clock=lambda: now[0])
    for moment in (0, 5, 41, 42.1):
        now[0] = max(now[0], moment)
        assert shown(gauges).value("jobs_queued", job_type="deal") == 0
    assert readings == [0, 42.1]  # forty seconds after the first ended: a twentieth of the time


def test_a_database_that_is_away_takes_only_its_own_numbers_along(caplog: pytest.LogCaptureFixture) -> None:
    def away() -> Gauges:
        raise OperationalError("the server is gone")

    page = page_of(away)
    assert page.value("jobs_stats_last_success_timestamp_seconds") == 0
    assert "jobs_queued" not in page.names()
    assert "jobs_build_info" in page.names()
    assert "the gauges could not be read: the server is gone" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_thread_of_somebody_elses_server_leaves_no_connection_open() -> None:
    left: list[object] = []

    def serve() -> None:
        monitored = DatabaseGauges(gauges._read)
        left.append(shown(monitored).value("jobs_stale_runs"))
        left.append(connections["default"].connection)

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert left == [0, None]
