"""Who is alive and who has gone silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import processes
from jobs_app.models import WorkerState

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def process(name: str, *, silent: float = 0, **columns: Any) -> WorkerState:
    seen_at = NOW - timedelta(seconds=silent)
    return WorkerState.objects.create(id=name, started_at=seen_at, seen_at=seen_at, **columns)


@pytest.mark.parametrize(
    ("silent", "draining", "status"),
    [(0, False, "alive"), (30, False, "alive"), (30.1, False, "late"), (0, True, "draining"), (31, True, "late")],
)
def test_a_process_is_late_after_a_lease_without_a_word(silent: float, draining: bool, status: str) -> None:
    assert processes.status_of(process("a", silent=silent, draining=draining), now=NOW) == status


def test_late_follows_the_lease(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 10}  # of this process; what another one promised is in its row
    assert processes.status_of(process("short", silent=6, beat_seconds=5 / 3), now=NOW) == "late"
    assert processes.status_of(process("long", silent=200, beat_seconds=100), now=NOW) == "alive"
    assert processes.status_of(process("gone", silent=301, beat_seconds=100), now=NOW) == "late"


def test_those_seen_last_come_first() -> None:
    for name, silent in (("old", 9), ("new", 1), ("middle", 5)):
        process(name, silent=silent)
    assert [each.id for each in processes.newest(connection)] == ["new", "middle", "old"]
    assert [each.id for each in processes.newest(connection, limit=1)] == ["new"]
