"""A loop outlives whatever one round of it does."""

from __future__ import annotations

import logging

import pytest
from django.db import OperationalError

from jobs_app.runtime import loops
from jobs_app.runtime.loops import Loop

pytestmark = pytest.mark.django_db(transaction=True)


class Rounds(Loop):
    """Does each of its rounds once, then asks itself to stop."""

    def __init__(self, *rounds: Exception | None) -> None:
        super().__init__("rounds")
        self._rounds = list(rounds)
        self.done = 0

    def run_once(self) -> None:
        error = self._rounds.pop(0)
        if not self._rounds:
            self.stop()
        if error is not None:
            raise error
        self.done += 1


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FIRST_BACKOFF_SECONDS", 0.001)


def finish(loop: Loop) -> None:
    loop.start()
    loop.join(30)
    assert not loop.is_alive()


def test_it_goes_on_until_it_is_stopped() -> None:
    loop = Rounds(None, None, None)
    finish(loop)
    assert loop.done == 3


def test_it_survives_a_lost_database_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    lost = OperationalError("server closed the connection")
    loop = Rounds(lost, lost, lost, None, None)
    with caplog.at_level(logging.WARNING, "jobs_app"):
        finish(loop)
    assert loop.done == 2
    assert [record.getMessage() for record in caplog.records] == [
        "jobs-rounds: the database does not answer (server closed the connection); going on when it does",
        "jobs-rounds: works again",
    ]


def test_a_conflict_is_tried_again_at_once_on_the_same_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deadlock(Exception):
        sqlstate = "40P01"

    conflict = OperationalError("deadlock detected")
    conflict.__cause__ = Deadlock()
    loop = Rounds(conflict, conflict, None)
    monkeypatch.setattr(loop, "_back_off", lambda **facts: pytest.fail("it waited"))
    with caplog.at_level(logging.INFO, "jobs_app"):
        finish(loop)
    assert (loop.done, loop.failures, caplog.records) == (1, 0, [])


def test_it_survives_a_fault_of_its_own_and_tells_where(caplog: pytest.LogCaptureFixture) -> None:
    loop = Rounds(ZeroDivisionError("no"), None)
    with caplog.at_level(logging.WARNING, "jobs_app"):
        finish(loop)
    assert loop.done == 1
    assert caplog.records[0].exc_info


def test_a_pause_ends_when_it_is_woken() -> None:
    loop = Rounds(None)
    loop.wake.set()
    assert loop.pause(30) is True
    assert loop.pause(0) is False
