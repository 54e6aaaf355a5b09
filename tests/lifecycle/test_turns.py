"""Turns: of all processes one does a chore, so often and not more."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.turns import end_turn, take_turn
from tests.lifecycle.rows import at
from tests.lifecycle.sessions import sessions


def take(second: float, chore: str = "sweep") -> bool:
    with at(second):
        return take_turn(connection, chore, seconds=60)


@pytest.mark.django_db
def test_a_turn_of_a_process_that_died_may_be_taken_when_its_time_is_over() -> None:
    assert [take(second) for second in (0, 1, 59, 60, 61, 120)] == [True, False, False, True, False, True]


@pytest.mark.django_db
def test_each_chore_has_its_own_turns() -> None:
    assert [take(0), take(0, "mop"), take(0), take(0, "mop")] == [True, True, False, False]


@pytest.mark.django_db
def test_who_ends_a_turn_says_when_the_next_one_is() -> None:
    assert take(0)
    with at(10):
        end_turn(connection, "sweep", next_in=300)
    assert [take(second) for second in (60, 309, 310)] == [False, False, True]


@pytest.mark.django_db
def test_a_turn_that_left_something_to_do_may_be_taken_at_once() -> None:
    assert take(0)
    with at(1):
        end_turn(connection, "sweep", next_in=0)
    assert take(1)


@pytest.mark.django_db(transaction=True)
def test_of_many_processes_one_has_the_turn() -> None:
    with sessions(6) as processes:
        futures = [process.start(lambda: take_turn(connection, "sweep", seconds=60)) for process in processes]
        assert sorted(future.result(timeout=60) for future in futures) == [False] * 5 + [True]
