"""A scheduler that has something of every kind to do."""

from __future__ import annotations

from typing import Any

from django.db import connection

from jobs_app import job
from jobs_app.runtime.recovery import recover_silent
from jobs_app.scheduler.reading import read_source
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from jobs_app.sources import due, sources, subjects
from tests.scheduler.schedules import NOON, after, schedule

ROWS_PER_BATCH = 4  # several transactions in a tick

BY_HAND: dict[str, dict[str, Any]] = {
    "all": {
        "next_run_at": after(-180),
        "interval_seconds": 30,
        "catch_up": "all",
        "catch_up_max": 4,
        "spread_seconds": 60,
    },
    "newest": {"next_run_at": after(-100), "interval_seconds": 20},
    "on time": {"next_run_at": after(-150), "interval_seconds": 100, "catch_up": "skip"},
    "alone": {"interval_seconds": 60, "overlap": "skip"},
    "one waiting": {"interval_seconds": 60, "overlap": "queue_one"},
    "cron": {"interval_seconds": None, "cron": "*/5 * * * *"},
    "single": {"next_run_at": after(30), "interval_seconds": None, "once_at": after(30)},
    "broken": {"next_run_at": after(45), "interval_seconds": 600, "payload": {"unknown": 1}},
}


def declare() -> None:
    """What code says, in each of the processes."""

    @job(name="beat")
    def beat(n: int = 0) -> None: ...

    @job(name="reconcile", exclusive=True)
    def reconcile() -> None: ...

    @job(name="declared", cron="*/5 * * * *")
    def declared() -> None: ...

    @job(name="deal", subject="provider", cron="*/5 * * * *")
    def deal(provider: str) -> None: ...

    @job(name="charge", subject="subscription", exclusive=True)
    def charge(subscription: str) -> None: ...

    @subjects("deal")
    def providers() -> list[str]:
        return ["f01", "f02"]

    @due("charge")
    def subscriptions() -> list[str]:
        return ["s1", "s2", "s3"]


def make_schedules() -> None:
    """What people made, due at noon unless said otherwise."""
    for name, columns in BY_HAND.items():
        schedule("beat", origin="admin", name=name, **{"next_run_at": NOON, **columns})
    for start in (20, 40):  # one key for both
        schedule("reconcile", origin="admin", name=f"from {start}", next_run_at=after(start), interval_seconds=60)


def work_round() -> None:
    """As `runscheduler --once` has it, in small batches."""
    read_code()
    tick(connection, limit=ROWS_PER_BATCH)
    recover_silent(connection)


def read_code() -> None:
    sync_declared(connection)
    for source in sources:
        read_source(connection, source, lambda: True)
