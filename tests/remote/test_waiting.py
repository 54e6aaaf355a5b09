"""Pulls that wait: one of each choice looks, the others are woken by it, and there are only so many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jobs_app.remote.desks import Choice
from jobs_app.remote.waiting import Full, WaitingRoom
from tests.lifecycle.rows import stored
from tests.waiting import until

LEADS, MAIL = Choice(queues=("leads",)), Choice(queues=("mail",))


@pytest.fixture
def room(settings: Any) -> Iterator[WaitingRoom]:
    settings.JOBS = {"API_MAX_WAITING": 3}
    return WaitingRoom(looks_out=False)


class Shelf:
    """What there is to be found, and how often somebody looked."""

    def __init__(self) -> None:
        self.looks = 0
        self.things: list[str] = []
        self._lock = threading.Lock()

    def look(self) -> str | None:
        with self._lock:
            self.looks += 1
            return self.things.pop() if self.things else None


def test_who_finds_nothing_in_its_time_is_told_so(room: WaitingRoom) -> None:
    shelf = Shelf()
    assert room.wait(LEADS, 0.05, shelf.look) is None
    assert len(room) == 0


def test_only_the_first_in_line_is_woken_and_it_wakes_the_next(room: WaitingRoom) -> None:
    shelf = Shelf()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(room.wait, LEADS, 20, shelf.look) for _ in range(3)]
        until(lambda: len(room) == 3)
        room.told_of(["leads"])
        until(lambda: shelf.looks == 1)  # nothing was there: the others sleep on
        shelf.things = ["a", "b", "c"]
        room.told_of(["leads"])
        assert {each.result(20) for each in waiting} == {"a", "b", "c"}
    assert shelf.looks == 4


def test_news_of_another_queue_wakes_nobody(room: WaitingRoom) -> None:
    leads, mail = Shelf(), Shelf()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(room.wait, choice, 20, shelf.look) for choice, shelf in ((LEADS, leads), (MAIL, mail))]
        until(lambda: len(room) == 2)
        mail.things = ["letter"]
        room.told_of(["mail"])
        assert waiting[1].result(20) == "letter"
        assert leads.looks == 0
        leads.things = ["lead"]
        room.told_of(["mail", "leads"])
        assert waiting[0].result(20) == "lead"


@pytest.mark.django_db(transaction=True)
def test_what_nobody_told_of_is_looked_for_and_the_threads_end_when_nobody_waits(settings: Any) -> None:
    settings.JOBS = {"WORKER_LISTEN": False, "WORKER_POLL_SECONDS": 0.05}
    room, shelf = WaitingRoom(), Shelf()
    try:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(room.wait, LEADS, 20, shelf.look)
            until(lambda: len(room) == 1)
            stored(queue="mail")
            shelf.things = ["lead"]
            stored(queue="leads")
            assert waiting.result(20) == "lead"
        [lookout] = room.threads
        assert lookout.is_alive()
        room._used_at = float("-inf")
        until(lambda: not lookout.is_alive())
    finally:
        room.close()


def test_no_more_wait_than_may(room: WaitingRoom) -> None:
    shelf = Shelf()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(room.wait, LEADS, 20, shelf.look) for _ in range(3)]
        until(lambda: len(room) == 3)
        with pytest.raises(Full):
            room.wait(MAIL, 20, shelf.look)
        shelf.things = ["a", "b", "c"]
        room.told_of(["leads"])
        assert all(each.result(20) for each in waiting)


def test_a_look_that_fails_ends_the_wait_of_that_one_alone(room: WaitingRoom) -> None:
    shelf = Shelf()

    def fails() -> str | None:
        raise OSError("the database is away")

    with ThreadPoolExecutor(2) as pool:
        broken = pool.submit(room.wait, LEADS, 20, fails)
        until(lambda: len(room) == 1)
        other = pool.submit(room.wait, LEADS, 20, shelf.look)
        until(lambda: len(room) == 2)
        shelf.things = ["a"]
        room.told_of(["leads"])
        assert other.result(20) == "a"
        with pytest.raises(OSError, match="away"):
            broken.result(20)
    assert len(room) == 0
