"""Which workers are alive: a row each, beaten in database time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app.lifecycle.presence import FORGET_AFTER, Presence, announce, beat, is_late, job_types_alive, leave
from jobs_app.models import WorkerKind, WorkerState
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

WHO = Presence(
    id="host-1-abc",
    name="mailer",
    host="host",
    pid=1,
    version="0.1.0",
    queues=["mail"],
    excluded=["slow"],
    job_types=["send", "sort"],
    concurrency=8,
    beat_seconds=5.0,
)


@pytest.mark.parametrize(("beat_seconds", "silent", "late"), [(10, 30, False), (10, 30.1, True), (100, 299, False)])
def test_who_misses_three_of_its_own_beats_is_late(beat_seconds: float, silent: float, late: bool) -> None:
    assert is_late(T, beat_seconds, T + timedelta(seconds=silent)) is late


def test_job_types_are_known_while_somebody_alive_knows_them() -> None:
    for who, silent, beat_seconds, names in (
        ("a", 0, 5, ["mail", "sync"]),
        ("b", 5, 5, ["sync", "report"]),
        ("dead", 60, 5, ["gone"]),
        ("patient", 60, 60, ["nightly"]),
    ):
        seen_at = T - timedelta(seconds=silent)
        WorkerState.objects.create(
            id=who, started_at=seen_at, seen_at=seen_at, beat_seconds=beat_seconds, job_types=names
        )
    assert job_types_alive(connection, now=T) == {"mail", "sync", "report", "nightly"}


def test_a_worker_tells_who_it_is() -> None:
    with at(0):
        announce(connection, WHO)
    assert WorkerState.objects.values().get() == {
        "id": "host-1-abc",
        "kind": "worker",
        "name": "mailer",
        "host": "host",
        "pid": 1,
        "version": "0.1.0",
        "queues": ["mail"],
        "excluded": ["slow"],
        "job_types": ["send", "sort"],
        "concurrency": 8,
        "busy": 0,
        "rss_bytes": 0,
        "draining": False,
        "drain_requested": False,
        "beat_seconds": 5.0,
        "started_at": T,
        "seen_at": T,
    }


def test_a_beat_moves_the_time_and_says_how_busy_it_is() -> None:
    with at(0):
        announce(connection, WHO)
    with at(10):
        assert beat(connection, WHO.id, busy=3, draining=True, rss_bytes=2**33)
    row = WorkerState.objects.get()
    assert (row.seen_at, row.started_at) == (T + timedelta(seconds=10), T)
    assert (row.busy, row.draining, row.rss_bytes, row.beat_seconds) == (3, True, 2**33, 5.0)
    assert beat(connection, WHO.id, busy=0, draining=True, rss_bytes=0, beat_seconds=20.0)
    assert WorkerState.objects.get().beat_seconds == 20.0


def test_a_worker_whose_row_is_gone_is_told_and_announces_itself_again() -> None:
    assert not beat(connection, WHO.id, busy=0, draining=False, rss_bytes=0)
    announce(connection, WHO)
    announce(connection, WHO)
    assert beat(connection, WHO.id, busy=0, draining=False, rss_bytes=0)
    assert WorkerState.objects.count() == 1


def test_who_leaves_is_gone_and_the_others_stay() -> None:
    announce(connection, WHO)
    announce(connection, Presence(id="other", kind=WorkerKind.SCHEDULER))
    leave(connection, WHO.id)
    assert [(row.id, row.kind) for row in WorkerState.objects.all()] == [("other", "scheduler")]


def test_who_was_killed_is_shown_for_a_day_and_then_forgotten() -> None:
    with at(0):
        announce(connection, WHO)
    with at(FORGET_AFTER.total_seconds()):
        announce(connection, Presence(id="second"))
    assert WorkerState.objects.count() == 2
    with at(FORGET_AFTER.total_seconds() + 1):
        announce(connection, Presence(id="third"))
    assert set(WorkerState.objects.values_list("id", flat=True)) == {"second", "third"}
