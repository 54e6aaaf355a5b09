"""A worker that goes silent is found once, by whichever process looks first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from jobs_app import job
from jobs_app.lifecycle import lost_workers
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.lost_workers import find_lost
from jobs_app.lifecycle.presence import Presence, announce, beat, leave
from jobs_app.models import WorkerKind
from tests.by_hand import HandWorker

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def another_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """As it begins: it has asked about nobody."""

    def begin() -> None:
        monkeypatch.setattr(lost_workers, "_known", set())

    begin()
    return begin


def after(seconds: float) -> Any:
    return frozen_clock(NOW + timedelta(seconds=seconds))


def came(worker_id: str, **facts: Any) -> None:
    announce(connection, Presence(id=worker_id, beat_seconds=10, **facts))


def test_it_is_found_when_its_beats_are_missed_with_what_it_has_in_hand() -> None:
    @job
    def slow() -> None: ...

    with after(0):
        worker = HandWorker(lease=60)
        came(worker.id, name="w-1", host="box", pid=7)
        came("host-2-b", kind=WorkerKind.SCHEDULER)
        run = slow.enqueue()
        assert len(worker.claim()) == 1
    with after(30):
        assert find_lost(connection) == {}
    with after(31):
        found = find_lost(connection)
    assert {lost.id: jobs for lost, jobs in found.items()} == {worker.id: {run.id}, "host-2-b": set()}
    told = next(lost for lost in found if lost.id == worker.id)
    assert (told.kind, told.name, told.host, told.pid, told.seen_at) == ("worker", "w-1", "box", 7, NOW)


def test_one_process_finds_it_and_only_once(another_process: Any) -> None:
    with after(0):
        came("host-1-a")
    with after(31):
        assert len(find_lost(connection)) == 1
        assert find_lost(connection) == {}
        another_process()
        assert find_lost(connection) == {}


def test_one_that_comes_back_may_be_lost_again() -> None:
    with after(0):
        came("host-1-a")
    with after(31):
        assert len(find_lost(connection)) == 1
    with after(40):
        assert beat(connection, "host-1-a", busy=0, draining=False, rss_bytes=0)
        assert find_lost(connection) == {}
    with after(71):
        assert len(find_lost(connection)) == 1


def test_one_that_signs_off_is_not_lost() -> None:
    with after(0):
        came("host-1-a")
        leave(connection, "host-1-a")
    with after(31):
        assert find_lost(connection) == {}


def test_one_whose_turn_could_not_be_taken_is_found_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*given: Any, **more: Any) -> bool:
        raise OperationalError("database is locked")

    with after(0):
        came("host-1-a")
    with after(31):
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(lost_workers, "take_turn", locked)
            with pytest.raises(OperationalError):
                find_lost(connection)
        assert [lost.id for lost in find_lost(connection)] == ["host-1-a"]
