"""Warm children: how many there are, which one is taken, and when they end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobs_app.worker.isolation import pool as pool_module
from jobs_app.worker.isolation.pool import Pool
from jobs_app.worker.isolation.process import ChildLost, ChildProcess
from tests.waiting import until
from tests.worker.harness import children_of, is_gone

Make = Callable[[int], Pool]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.worker.settings")
    made: list[Pool] = []

    def make_one(size: int) -> Pool:
        made.append(Pool(size))
        return made[-1]

    yield make_one
    for pool in made:
        pool.stop()


def guards() -> set[int]:
    found = set(children_of(os.getpid()))
    return {pid for pid in found if not is_gone(pid)}


def test_a_child_that_was_given_back_is_taken_again(make: Make) -> None:
    pool = make(2)
    first = pool.take()
    pool.give_back(first)
    assert pool.take() is first
    second = pool.take()
    assert second is not first
    pool.give_back(first)
    pool.give_back(second)
    assert pool.take() is second  # so that those nobody needs get old


def test_one_is_made_ready_before_it_is_needed_and_no_more(make: Make) -> None:
    pool = make(1)
    before = guards()
    pool.warm()
    pool.warm()
    (warm,) = guards() - before
    child = pool.take()
    assert child.guard_pid == warm
    pool.warm()
    assert guards() - before == {warm}  # no room for another


def test_a_child_that_did_its_share_is_replaced(make: Make, settings: Any) -> None:
    settings.JOBS = {"ISOLATION_MAX_JOBS": 2}
    pool = make(1)
    first = pool.take()
    pool.give_back(first)
    assert pool.take() is first
    pool.give_back(first)
    assert pool.take() is not first
    until(first.is_gone, every=0.01)  # by itself


def test_idle_children_end_but_for_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = make(3)
    taken = [pool.take() for _ in range(3)]
    for child in taken:
        pool.give_back(child)
    pool.tend()
    assert not any(child.is_gone() for child in taken)
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0)
    pool.tend()
    until(lambda: taken[0].is_gone() and taken[1].is_gone(), every=0.01)
    pool.tend()
    assert not taken[2].is_gone()
    assert pool.take() is taken[2]


def test_a_child_that_died_while_it_was_idle_is_given_to_nobody(make: Make) -> None:
    pool = make(1)
    first = pool.take()
    pool.give_back(first)
    (below,) = children_of(first.guard_pid)
    os.kill(below, signal.SIGKILL)
    until(first.is_gone, every=0.01)
    second = pool.take()
    assert second is not first
    assert second.is_fit()


def test_what_is_killed_is_gone_when_it_is_given_back(make: Make) -> None:
    pool = make(1)
    child = pool.take()
    (below,) = children_of(child.guard_pid)
    child.kill()
    pool.give_back(child)
    assert is_gone(below)
    assert pool.take() is not child


def test_a_project_that_cannot_be_loaded_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.no_such_settings")
    with pytest.raises(ChildLost, match="the process ended with exit code 1 while it started"):
        make(1).take()


def test_a_stopped_pool_leaves_nothing_and_starts_nothing(make: Make) -> None:
    before = guards()
    pool = make(3)
    idle, busy = pool.take(), pool.take()
    pool.give_back(idle)
    pool.stop()
    assert guards() == before
    pool.give_back(busy)
    pool.warm()
    with pytest.raises(ChildLost, match="stops"):
        pool.take()
    assert guards() == before


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "the process ended with exit code 0"),
        (-11, "the process was killed by SIGSEGV"),
        (-9, "the process was killed by SIGKILL; the system does that when memory runs out"),
        (-63, "the process was killed by signal 63"),
        (None, "the process is gone"),
    ],
)
def test_an_end_is_told_in_words(code: int | None, text: str) -> None:
    assert ChildProcess.describe_end(code) == text
