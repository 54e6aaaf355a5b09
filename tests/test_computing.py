"""The threads of a worker that have much to compute take turns, and nobody waits for long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from jobs_app import computing as module
from jobs_app.computing import computing, running_handlers
from tests.waiting import until

PATIENT, IMPATIENT = 30.0, 0.01


@pytest.fixture(autouse=True)
def all_turns_given_back() -> Iterator[None]:
    yield
    locks = (module._turn, module._first_in_line, module._handlers)
    assert not any(lock.locked() for lock in locks)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", PATIENT)


@pytest.fixture
def start() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(max_workers=8) as pool:
        yield pool.submit


class Holder:
    """Has the turn from `take` until it is let go."""

    def __init__(self, turn: Any = computing) -> None:
        self._turn = turn
        self._has_it = threading.Event()
        self.let_go = threading.Event()

    def take(self) -> None:
        with self._turn():
            self._has_it.set()
            assert self.let_go.wait(30)

    def wait(self) -> None:
        assert self._has_it.wait(30)


def is_somebody_in_line() -> bool:
    return module._first_in_line.locked()


@pytest.mark.usefixtures("patient")
def test_who_comes_second_waits_for_its_turn(start: Any) -> None:
    order: list[str] = []

    def second() -> None:
        with computing():
            order.append("second")

    holder = Holder()
    first = start(holder.take)
    holder.wait()
    later = start(second)
    until(is_somebody_in_line, every=0.001)
    order.append("first")
    holder.let_go.set()
    first.result(30), later.result(30)
    assert order == ["first", "second"]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("turns", [[computing] * 4, [running_handlers] * 4, [computing, running_handlers] * 2])
def test_patient_threads_never_compute_at_once(turns: list[Any], start: Any) -> None:
    inside: list[int] = []
    most = 0

    def work(turn: Any) -> None:
        nonlocal most
        for _ in range(200):
            with turn():
                inside.append(1)
                most = max(most, len(inside))
                sum(range(300))
                inside.pop()

    for done in [start(work, turn) for turn in turns]:
        done.result(30)
    assert most == 1


@pytest.mark.parametrize("turn", [computing, running_handlers])
def test_who_waited_long_goes_on_without_a_turn(turn: Any, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", IMPATIENT)
    holder = Holder(turn)
    held = start(holder.take)
    holder.wait()
    with turn():
        assert not holder.let_go.is_set()
    assert module._turn.locked()  # it did not give back what it never had
    holder.let_go.set()
    held.result(30)


@pytest.mark.usefixtures("patient")
def test_who_waits_is_next_before_handlers_run_again(start: Any) -> None:
    order: list[str] = []
    first = Holder(running_handlers)

    def run_handlers() -> None:
        first.take()
        with running_handlers():
            order.append("handlers")

    def claim() -> None:
        with computing():
            order.append("claimer")

    handlers = start(run_handlers)
    first.wait()
    claimer = start(claim)
    until(is_somebody_in_line, every=0.001)
    first.let_go.set()
    handlers.result(30), claimer.result(30)
    assert order == ["claimer", "handlers"]


@pytest.mark.usefixtures("patient")
def test_of_many_threads_with_handlers_only_one_stands_in_line(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim comes after the one that runs, not after all that wait."""
    order: list[str] = []
    asked = threading.Semaphore(0)
    handlers_lock = module._handlers

    class Noting:
        def acquire(self, timeout: float) -> bool:
            asked.release()
            return handlers_lock.acquire(timeout=timeout)

        def release(self) -> None:
            handlers_lock.release()

    def work(name: str, turn: Any) -> None:
        with turn():
            order.append(name)

    first = Holder(running_handlers)
    held = start(first.take)
    first.wait()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_handlers", Noting())
        others = [start(work, "handlers", running_handlers) for _ in range(3)]
        assert all(asked.acquire(timeout=30) for _ in others)
        claimer = start(work, "claimer", computing)
        until(is_somebody_in_line, every=0.001)
        first.let_go.set()
        for done in (held, claimer, *others):
            done.result(30)
    assert order == ["claimer", *["handlers"] * 3]


@pytest.mark.usefixtures("patient")
def test_a_claimer_gets_in_while_handlers_run_all_the_time(start: Any) -> None:
    stop = threading.Event()
    turns = [0]

    def run_handlers() -> None:
        while not stop.is_set():
            with running_handlers():
                turns[0] += 1
                sum(range(300))

    handlers = start(run_handlers)
    until(lambda: turns[0] > 10, every=0.001)
    try:
        for _ in range(50):
            with computing():
                before = turns[0]
                sum(range(300))
                assert turns[0] == before
    finally:
        stop.set()
        handlers.result(30)


@pytest.mark.parametrize("turn", [computing, running_handlers])
def test_an_error_gives_the_turn_back(turn: Any, patient: None) -> None:
    with pytest.raises(RuntimeError), turn():
        raise RuntimeError
    with turn():
        pass


@pytest.mark.usefixtures("patient")
def test_a_turn_within_a_turn_waits_for_nobody() -> None:
    with running_handlers(), computing(), computing():
        assert module._turn.locked()
    assert not module._turn.locked()
