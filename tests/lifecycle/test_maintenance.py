"""Where maintenance windows come from, and which schedules they hold."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.maintenance import held_types, read_windows
from jobs_app.models import MaintenanceWindow
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.windows import Window

pytestmark = pytest.mark.django_db


def at(clock: str) -> datetime:
    return datetime.combine(datetime(2026, 1, 1), time.fromisoformat(clock), tzinfo=UTC)


def row(name: str = "backup", **columns: Any) -> MaintenanceWindow:
    return MaintenanceWindow.objects.create(**{"name": name, "start": time(7), "minutes": 20} | columns)


@pytest.fixture
def define() -> Callable[..., None]:
    def define(name: str, **options: Any) -> None:
        @job(name=name, **options)
        def handler(pages: int = 1) -> None: ...

    return define


@pytest.fixture(autouse=True)
def no_complaints_yet() -> None:
    """A complaint is made once per streak."""
    held_types(connection, at("12:00"))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_there_are_none_at_first() -> None:
    assert read_windows(connection) == ()
    assert held_types(connection, at("07:05")) == {}


def test_those_of_the_settings_come_before_the_rows_that_are_enabled(settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "22:00"}
    row("late", start=time(23, 50), timezone="Europe/Berlin", days=[5, 6], queues=["mail"], job_types=["report"])
    row("off", enabled=False)
    row("early")
    assert read_windows(connection) == (
        Window(name="22:00 UTC", start=time(22), minutes=20),
        Window(
            name="late",
            start=time(23, 50),
            minutes=20,
            timezone="Europe/Berlin",
            days=frozenset({5, 6}),
            queues=frozenset({"mail"}),
            job_types=frozenset({"report"}),
        ),
        Window(name="early", start=time(7), minutes=20),
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"timezone": "Mars/Base"},
        {"minutes": 0},
        {"minutes": 2000},
        {"days": [7]},
        {"days": {"monday": True}},
        {"queues": "mail"},
        {"queues": [SYSTEM_QUEUE]},
        {"job_types": [["report"]]},
    ],
)
def test_a_row_that_cannot_be_read_is_left_out_and_told_once(
    columns: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    row("bad", **columns)
    row("good")
    for _ in range(3):
        assert [window.name for window in read_windows(connection)] == ["good"]
    [told] = warnings(caplog)
    assert told.startswith("maintenance window 'bad' cannot be read and is left out: ")
    assert next(iter(columns)) in told


def test_it_is_told_again_when_it_was_well_in_between(caplog: pytest.LogCaptureFixture) -> None:
    bad = row(timezone="Mars/Base")
    read_windows(connection)
    MaintenanceWindow.objects.filter(pk=bad.pk).update(timezone="UTC")
    assert len(read_windows(connection)) == 1
    MaintenanceWindow.objects.filter(pk=bad.pk).update(timezone="Mars/Base")
    read_windows(connection)
    assert len(warnings(caplog)) == 2


def test_it_is_one_query(django_assert_num_queries: Any) -> None:
    row()
    with django_assert_num_queries(1):
        read_windows(connection)


@pytest.mark.spec("S0.25", "S0.26", "S0.R18", "A0.4")
@pytest.mark.parametrize(
    ("clock", "until"),
    [("06:54:00", None), ("06:54:01", "07:20"), ("07:00", "07:20"), ("07:19:59", "07:20"), ("07:20", None)],
)
def test_schedules_are_held_in_a_window_and_for_the_longest_timeout_before_it(
    define: Any, clock: str, until: str | None
) -> None:
    define("deal", timeout=360)
    define("retrieval", timeout=60)
    define("plain")
    define("jobs.chore", queue=SYSTEM_QUEUE, timeout=7200)
    row()
    names = ("deal", "retrieval", "plain") if until else ()
    assert held_types(connection, at(clock)) == {name: at(until or "00:00") for name in names}


@pytest.mark.spec("S0.25")
def test_only_what_a_window_names_is_held_and_only_that_counts_for_its_lead(define: Any) -> None:
    define("deal", timeout=360)
    define("metrics", timeout=3600)
    define("mail", queue="mail")
    row(job_types=["deal"], queues=["mail"])
    assert held_types(connection, at("06:53")) == {}
    assert held_types(connection, at("06:55")) == {"deal": at("07:20"), "mail": at("07:20")}
    assert held_types(connection, at("07:05")) == {"deal": at("07:20"), "mail": at("07:20")}


@pytest.mark.spec("S0.26")
@pytest.mark.parametrize(
    ("options", "lead"),
    [
        ({"timeout": "10m"}, 10),
        ({"timeout": "1h"}, 40),  # as the settings allow
        ({"timeout": "10m", "variant": "pages", "timeouts": {"3": "30m"}}, 30),
        ({"timeout": lambda payload: 60, "max_timeout": "15m"}, 15),
        ({"timeout": lambda payload: 60}, 40),
        ({}, 0),
    ],
)
def test_the_lead_is_as_long_as_any_of_its_jobs_may_take(
    define: Any, settings: Any, options: dict[str, Any], lead: int
) -> None:
    settings.JOBS = {"MAX_TIMEOUT_SECONDS": 2400}
    define("work", **options)
    row()
    start = at("07:00").timestamp() - lead * 60
    assert held_types(connection, datetime.fromtimestamp(start, UTC)) == ({} if lead else {"work": at("07:20")})
    assert held_types(connection, datetime.fromtimestamp(start + 1, UTC)) == {"work": at("07:20")}


def test_windows_that_leave_no_time_for_a_type_are_told_once(define: Any, caplog: pytest.LogCaptureFixture) -> None:
    define("long", timeout="24h")
    define("other", queue="other")
    row(job_types=["long"])
    for _ in range(3):
        assert list(held_types(connection, at("12:00"))) == ["long"]
    [told] = warnings(caplog)
    assert told.startswith("schedules of long never enqueue")
