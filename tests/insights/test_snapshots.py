"""What was read a moment ago is kept for everybody."""

from __future__ import annotations

import threading
from typing import Any

from jobs_app.insights.snapshots import Snapshots


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_is_read_again_only_when_it_is_old() -> None:
    clock, reads = Clock(), iter(range(10))
    kept = Snapshots(5, clock)
    assert [kept.get("a", lambda: next(reads)).value for _ in range(50)] == [0] * 50
    clock.now += 4.9
    assert kept.get("a", lambda: next(reads)).value == 0
    clock.now += 0.1
    fresh = kept.get("a", lambda: next(reads))
    assert (fresh.value, fresh.is_new, kept.age(fresh)) == (1, True, 0)


def test_names_are_kept_apart_and_a_reader_knows_whether_it_read_itself() -> None:
    kept = Snapshots(5, Clock())
    assert kept.get("a", lambda: 1).is_new
    again = kept.get("a", lambda: 2)
    assert (again.value, again.is_new) == (1, False)
    assert kept.get("b", lambda: 2).value == 2
    kept.clear()
    assert kept.get("a", lambda: 3).value == 3


def test_nothing_is_kept_of_a_read_that_failed() -> None:
    kept = Snapshots(5, Clock())
    for _ in range(2):
        try:
            kept.get("a", lambda: 1 / 0)
        except ZeroDivisionError:
            continue
    assert kept.get("a", lambda: 1).value == 1


def test_who_comes_meanwhile_waits_and_reads_nothing() -> None:
    kept, began, gate, reads = Snapshots(5), threading.Event(), threading.Event(), []

    def slow() -> str:
        reads.append(1)
        began.set()
        gate.wait(10)
        return "once"

    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(kept.get("a", slow).value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert began.wait(10)
    gate.set()
    for thread in threads:
        thread.join(10)
    assert (answers, len(reads)) == (["once"] * 8, 1)
