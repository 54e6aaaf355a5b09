"""The threads that look out for pulls which wait: what they tell, and when they are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jobs_app.models import Job
from jobs_app.remote.desks import Choice
from jobs_app.remote.lookout import Lookout
from jobs_app.remote.waiting import WaitingRoom
from jobs_app.runtime.loops import Loop
from tests.lifecycle.rows import at, one_running, stored
from tests.waiting import until

LEADS = Choice(queues=("leads",))


class Told:
    """A room in which somebody always waits."""

    def __init__(self) -> None:
        self.queues: list[set[str]] = []

    def told_of(self, queues: Iterable[str]) -> None:
        self.queues.append(set(queues))

    def dismisses(self, thread: Loop) -> bool:
        return False


@pytest.fixture
def looks(settings: Any) -> Iterator[Any]:
    """Look once at a moment; what was told of then."""
    settings.JOBS = {"WORKER_POLL_SECONDS": 0.001}
    told = Told()
    lookout = Lookout(told)

    def look(seconds: float) -> set[str]:
        with at(seconds):
            lookout.run_once()
        return told.queues[-1]

    return look


@pytest.mark.django_db
def test_first_all_that_waits_is_told_then_what_became_due(looks: Any) -> None:
    with at(0):
        stored(queue="leads")
    assert looks(5) == {"leads"}
    assert looks(10) == set()  # it was told, and is still there: somebody else's
    with at(11):
        stored(queue="mail")
    assert looks(12) == {"mail"}


@pytest.mark.django_db
def test_what_a_silent_worker_had_is_given_back_and_told(looks: Any) -> None:
    with at(0):
        job = one_running(queue="leads")
    looks(1)
    from jobs_app.remote.rounds import rounds

    rounds.forget()
    assert looks(100) == {"leads"}
    assert Job.objects.get(pk=job.id).state == "queued"


@pytest.mark.django_db
def test_what_waits_before_a_gate_is_told_each_time(looks: Any) -> None:
    with at(0):
        stored(queue="leads", gate=1)
    assert looks(1) == {"leads"}
    assert looks(10) == {"leads"}


@pytest.mark.django_db(transaction=True)
def test_the_threads_come_with_the_first_who_waits_and_missing_ones_come_again() -> None:
    room = WaitingRoom()
    found: list[str] = []

    def look() -> str | None:
        return found.pop() if found else None

    try:
        with ThreadPoolExecutor(1) as pool:
            for _ in range(2):
                waiting = pool.submit(room.wait, LEADS, 30, look)
                until(lambda: len(room) == 1 and len(room.threads) == 2)
                found.append("lead")
                stored(queue="leads")
                assert waiting.result(30) == "lead"
                first = room.threads[0]
                first.stop()  # as one that died
                until(lambda: not first.is_alive())  # noqa: B023
                assert first in room.threads  # nobody has missed it yet
    finally:
        room.close()
    assert room.threads == []
