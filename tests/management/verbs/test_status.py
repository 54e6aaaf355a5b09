"""`jobs status`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import counts
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import WorkerKind
from tests.by_hand import HandWorker
from tests.management.calling import jobs, jobs_json

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports")
    def report() -> None: ...

    return report


@pytest.fixture
def at_work(report: Any) -> Any:
    """A run that ended, one that waits since noon, a worker, a silent worker and a scheduler; it is 12:01:20."""
    with frozen_clock(NOON):
        announce(connection, Presence(id="host-1-a", name="old", host="host", pid=1, concurrency=2))
        report.enqueue()
        HandWorker().work()
        report.enqueue()
    with frozen_clock(NOON + timedelta(seconds=80)):
        mail = Presence(id="host-2-b", host="host", pid=2, queues=["mail"], excluded=["mail.bulk"], concurrency=10)
        announce(connection, mail)
        announce(connection, Presence(id="host-3-c", kind=WorkerKind.SCHEDULER, host="host", pid=3))
        yield


def test_a_table_for_people(at_work: Any) -> None:
    data, words = jobs("status")
    assert data.splitlines() == [
        "QUEUE    QUEUED  SCHEDULED  RETRYING  HELD  RUNNING  OLDEST WAIT",
        "reports       1          0         0     0        0  1m 20s",
        "",
        "Last 24 hours: 1 succeeded, 0 failed, 0 cancelled",
        "",
        "KIND       NAME          STATUS  BUSY  SEEN        QUEUES",
        "worker     host-2        alive   0/10  0ms ago     mail but mail.bulk",
        "scheduler  host-3        alive   -     0ms ago     -",
        "worker     old (host-1)  lost    0/2   1m 20s ago  all",
    ]
    assert words == ""


def test_json_for_programs(at_work: Any) -> None:
    told = jobs_json("status")
    assert (told["schema"], told["at"]) == (1, "2026-01-01T12:01:20+00:00")
    counted = {"queued": 1, "scheduled": 0, "retrying": 0, "held": 0, "running": 0}
    assert told["queues"] == [{"queue": "reports", **counted, "oldest_wait_seconds": 80.0}]
    assert (told["pauses"], told["windows"]) == ([], [])
    assert told["last_24_hours"] == {"succeeded": 1, "failed": 0, "cancelled": 0}
    assert (told["queues_capped"], told["last_24_hours_capped"]) == (False, False)
    assert [(each["id"], each["kind"], each["status"]) for each in told["processes"]] == [
        ("host-2-b", "worker", "alive"),
        ("host-3-c", "scheduler", "alive"),
        ("host-1-a", "worker", "lost"),
    ]


def test_what_is_paused_is_said_with_who_and_why(at_work: Any) -> None:
    control.pause("subject", "shop-7", "ann", "they asked", until=NOON + timedelta(hours=1))
    control.pause("all", "", "bob")
    told = jobs("status")[0].splitlines()
    assert told[:2] == [
        "Paused by bob: everything",
        "Paused by ann until 2026-01-01 13:00:00Z: subject shop-7 (they asked)",
    ]
    names = ("scope", "name", "actor", "reason")
    first = jobs_json("status")["pauses"][1]
    assert [first[name] for name in names] == ["subject", "shop-7", "ann", "they asked"]


def test_the_maintenance_windows_that_are_open_are_said(at_work: Any, settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": ["12:00", "13:00", {"name": "mail", "start": "11:50", "queues": ["mail"]}]}
    assert jobs("status")[0].splitlines()[:3] == [
        "In the maintenance window 12:00 UTC until 2026-01-01T12:20:00+00:00: everything",
        "In the maintenance window mail until 2026-01-01T12:10:00+00:00: queue mail",
        "QUEUE    QUEUED  SCHEDULED  RETRYING  HELD  RUNNING  OLDEST WAIT",
    ]
    first, second = jobs_json("status")["windows"]
    assert (first["name"], first["end"], first["queues"]) == ("12:00 UTC", "2026-01-01T12:20:00+00:00", [])
    assert (second["name"], second["start"], second["queues"]) == ("mail", "2026-01-01T11:50:00+00:00", ["mail"])


def test_what_runs_past_its_timeout_is_said() -> None:
    @job(timeout="10s")
    def slow() -> None: ...

    with frozen_clock(NOON):
        run = slow.enqueue()
        [claimed] = HandWorker().claim()
    with frozen_clock(NOON + timedelta(seconds=70)):
        told = jobs("status")[0].splitlines()[0]
        assert told.startswith(f"Overdue since 1m: slow {run.id} on ")
        assert jobs_json("status")["overdue"] == [{"id": str(run.id), "job_type": "slow", "seconds": 60.0}]
        assert "running, overdue since 1m" in jobs("show", str(claimed.id))[0]


def test_that_nobody_works_is_said(report: Any) -> None:
    announce(connection, Presence(id="host-3-c", kind=WorkerKind.SCHEDULER))
    assert "No worker is alive" in jobs("status")[1]


def test_numbers_that_were_capped_are_said_to_be(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report.enqueue_many([{}] * 3)
    live = counts.live
    monkeypatch.setattr(counts, "live", lambda connection: live(connection, limit=2))
    assert "queued, scheduled and retrying are at least these" in jobs("status")[0]
    assert jobs_json("status")["queues_capped"] is True
