"""Threads and the event loop: everything submitted runs once, or is taken back once, whatever it does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from jobs_app import job
from jobs_app.worker.crew import Crew
from jobs_app.worker.executors import Chunk, EventLoop, Threads
from jobs_app.worker.pace import Pace
from tests.waiting import until
from tests.worker.flights import Ended, flight_of
from tests.worker.harness import finished, working


@pytest.fixture
def ended() -> Ended:
    return Ended()


@pytest.fixture
def make_threads(ended: Ended) -> Iterator[Callable[[int], Threads]]:
    made: list[Threads] = []

    def make(size: int) -> Threads:
        made.append(Threads(size, ended))
        return made[-1]

    yield make
    for threads in made:
        threads.stop()


@pytest.fixture
def loop(ended: Ended) -> Iterator[EventLoop]:
    loop = EventLoop(2, ended)
    yield loop
    loop.stop()


def test_no_more_threads_are_started_than_there_is_work_for(ended: Ended, make_threads: Any) -> None:
    threads = make_threads(8)
    names: set[str] = set()
    sample = job(name="sample")(lambda: names.add(threading.current_thread().name))
    for number in range(10):
        threads.submit(Chunk([flight_of(sample)]))
        ended.wait(number + 1)
    assert len(names) == 1


def test_no_more_jobs_run_at_once_than_there_are_threads(ended: Ended, make_threads: Any) -> None:
    running, most, lock = [0], [0], threading.Lock()
    gate = threading.Event()

    def count() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        gate.wait(10)
        with lock:
            running[0] -= 1

    threads = make_threads(3)
    sample = job(name="sample")(count)
    submitters = [
        threading.Thread(target=lambda: [threads.submit(Chunk([flight_of(sample)])) for _ in range(5)])
        for _ in range(4)
    ]
    for submitter in submitters:
        submitter.start()
    until(lambda: running[0] == 3, every=0.01)
    gate.set()
    assert ended.wait(20) == ["succeeded"] * 20
    assert most[0] == 3


def test_a_handler_that_breaks_everything_does_not_cost_its_thread(ended: Ended, make_threads: Any) -> None:
    class Odd(BaseException):
        def __str__(self) -> str:
            raise RuntimeError

    def odd() -> None:
        raise Odd

    threads = make_threads(1)
    bad, good = job(name="odd")(odd), job(name="good")(lambda: None)
    threads.submit(Chunk([flight_of(bad), flight_of(good)]))
    assert ended.wait(2) == ["queued", "succeeded"]


@pytest.mark.parametrize("is_tiny", [False, True])
def test_jobs_behind_a_slow_one_are_taken_back_once(is_tiny: bool, ended: Ended, make_threads: Any) -> None:
    gate = threading.Event()
    slow, quick = job(name="slow")(lambda: gate.wait(10)), job(name="quick")(lambda: None)
    threads = make_threads(1)
    behind = [flight_of(quick) for _ in range(3)]
    first = flight_of(slow)
    threads.submit(Chunk([first, *behind], is_tiny=is_tiny))
    until(lambda: first.started, every=0.01)
    assert threads.take_back(60) == []
    assert threads.take_back(0) == behind
    assert threads.take_back(0) == []
    gate.set()
    ended.wait(1)
    assert [flight for flight, _ in ended] == [first]


def test_async_handlers_share_one_loop_and_no_more_run_than_its_size(ended: Ended, loop: EventLoop) -> None:
    running, most, threads = [0], [0], set()

    async def count() -> None:
        threads.add(threading.get_ident())
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1

    sample = job(name="sample")(count)
    for _ in range(10):
        loop.submit(flight_of(sample))
    assert ended.wait(10) == ["succeeded"] * 10
    assert (most[0], len(threads)) == (2, 1)


def test_a_blocked_loop_is_seen_and_what_waits_for_it_is_taken_back(ended: Ended, loop: EventLoop) -> None:
    gate = threading.Event()

    async def block() -> None:
        gate.wait(10)

    async def quick() -> None: ...

    blocker, waiting = flight_of(job(name="block")(block)), flight_of(job(name="quick")(quick))
    assert not loop.is_blocked
    loop.submit(blocker)
    until(lambda: blocker.started, every=0.01)
    loop.submit(waiting)
    until(lambda: loop.is_blocked, every=0.01)
    assert loop.take_back(0) == [waiting]
    gate.set()
    ended.wait(1)
    until(lambda: not loop.is_blocked, every=0.01)
    assert [flight for flight, _ in ended] == [blocker]


def test_what_was_handed_to_the_loop_together_with_a_blocker_can_be_taken_back_too(
    ended: Ended, loop: EventLoop
) -> None:
    gate = threading.Event()

    async def block() -> None:
        gate.wait(10)

    async def quick() -> None: ...

    blocker, waiting = flight_of(job(name="block")(block)), flight_of(job(name="quick")(quick))
    loop._waiting.append(blocker)
    loop.submit(waiting)
    until(lambda: blocker.started, every=0.01)
    assert loop.take_back(0) == [waiting]
    until(lambda: loop.is_blocked, every=0.01)
    gate.set()
    ended.wait(1)
    until(lambda: not loop.is_blocked, every=0.01)
    assert [flight for flight, _ in ended] == [blocker]


def test_a_loop_that_is_full_is_not_blocked(ended: Ended, loop: EventLoop) -> None:
    gate = threading.Event()

    async def patient() -> None:
        while not gate.is_set():
            await asyncio.sleep(0.01)

    flights = [flight_of(job(name="patient")(patient)) for _ in range(3)]
    for flight in flights:
        loop.submit(flight)
    until(lambda: all(flight.started for flight in flights[:2]), every=0.01)
    until(lambda: loop._asked is None, every=0.01)
    assert flights[2].started is None
    gate.set()
    assert ended.wait(3) == ["succeeded"] * 3


def test_an_async_job_that_waited_too_long_is_never_run_as_a_sync_one(ended: Ended) -> None:
    """Called in a thread it would give back a coroutine and count as done."""
    gate = threading.Event()
    ran: list[str] = []

    async def block() -> None:
        gate.wait(10)

    async def work() -> None:
        ran.append("work")

    crew = Crew(4, Pace(), ended)
    blocker, waiting = flight_of(job(name="block")(block)), flight_of(job(name="work")(work))
    crew.launch([blocker])
    until(lambda: blocker.started, every=0.01)
    crew.launch([waiting])
    until(crew.is_loop_blocked, every=0.01)
    assert crew.hurry(0.0, running=1) == [waiting]
    gate.set()
    ended.wait(1)
    assert (ran, [flight for flight, _ in ended]) == ([], [blocker])
    crew.stop()


def test_tiny_jobs_of_several_threads_go_on_while_one_of_them_is_slow(ended: Ended, make_threads: Any) -> None:
    """It has the turn to compute, and they wait for it only so long."""
    gate = threading.Event()
    slow, quick = job(name="slow")(lambda: gate.wait(10)), job(name="quick")(lambda: None)
    threads = make_threads(3)
    first = flight_of(slow)
    threads.submit(Chunk([first], is_tiny=True))
    until(lambda: first.started, every=0.01)
    for _ in range(2):
        threads.submit(Chunk([flight_of(quick) for _ in range(5)], is_tiny=True))
    assert ended.wait(10) == ["succeeded"] * 10
    gate.set()
    ended.wait(11)


@pytest.mark.django_db(transaction=True)
def test_tiny_jobs_in_the_chunk_of_a_slow_one_are_taken_back_and_run() -> None:
    gate = threading.Event()

    @job
    def work(slow: bool = False) -> None:
        if slow:
            gate.wait(60)

    with working(concurrency=2) as worker:
        worker.pace.note("work", 0, 1000)
        with transaction.atomic():  # one claim: the slow one first, the others in its chunk
            first = work.enqueue(slow=True)
            behind = work.enqueue_many([{}] * 20)
        until(worker.hangar.running, every=0.01)
        assert worker.pace.is_tiny("work")
        assert set(finished(*behind)) == {"succeeded"}
        assert first.refresh().status == "running"
        gate.set()
        assert finished(first) == ["succeeded"]


@pytest.mark.parametrize("is_tiny", [False, True])
def test_what_waits_goes_to_free_threads_and_only_the_rest_back(is_tiny: bool, ended: Ended) -> None:
    gate = threading.Event()
    slow, quick = job(name="slow")(lambda: gate.wait(10)), job(name="quick")(lambda: None)
    crew = Crew(2, Pace(), ended)
    first, behind = flight_of(slow), [flight_of(quick) for _ in range(3)]
    crew._threads.submit(Chunk([first, *behind], is_tiny=is_tiny))
    until(lambda: first.started, every=0.01)
    assert crew.hurry(0.0, running=1) == behind[1:]
    assert ended.wait(1) == ["succeeded"]
    assert [flight for flight, _ in ended] == behind[:1]
    gate.set()
    ended.wait(2)
    crew.stop()


def test_a_system_that_gives_no_more_threads_costs_no_job(
    ended: Ended, make_threads: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    threads = make_threads(4)
    sample = job(name="sample")(lambda: None)
    first = flight_of(sample)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        threads.submit(Chunk([first]))
    assert "no thread for another job" in caplog.text
    assert threads.take_back(0) == [first]
    threads.submit(Chunk([first]))
    assert ended.wait(1) == ["succeeded"]
