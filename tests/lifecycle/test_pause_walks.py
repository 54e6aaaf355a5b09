"""The walks that pauses leave: by whoever has time, one at a time, and complete whatever is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.lifecycle import parking
from jobs_app.lifecycle.pause_walks import LATE_COMMITS, SWEEP_EVERY_SECONDS, Walker
from jobs_app.models import Job, Pause
from tests.lifecycle.paused import end, holds, paused
from tests.lifecycle.rows import T, at, stored
from tests.lifecycle.sessions import sessions
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 3)


@pytest.fixture
def walker() -> Walker:
    return Walker()


def test_a_walk_goes_on_where_it_stopped_and_notes_the_end(walker: Walker) -> None:
    stored(8, subject="shop-7")
    pause = paused()
    moved = [walker.go_on(connection, 0) for _ in range(3)]
    assert moved == [3, 3, 2]
    pause.refresh_from_db()
    assert pause.parked
    assert walker.go_on(connection, 60) == 0


@pytest.mark.parametrize("kills", range(4))
def test_whoever_is_killed_the_next_one_completes_it(kills: int) -> None:
    with at(0):
        stored(8, subject="shop-7")
        stored(4, subject="shop-8")
        pause = paused()
        for _ in range(kills):
            Walker().go_on(connection, 0)
        Walker().go_on(connection, 60)
        assert set(holds(subject="shop-7")) == {"pause"}
        assert set(holds(subject="shop-8")) == {""}
        end(pause, 0)
        for _ in range(kills):
            Walker().go_on(connection, 0)
        Walker().go_on(connection, 60)
        assert set(holds()) == {""}


def test_a_pause_that_ended_leaves_its_row_when_nothing_can_be_behind_it_any_more(walker: Walker) -> None:
    with at(0):
        stored(4, subject="shop-7")
        pause = paused(until=T + timedelta(seconds=10))
        walker.go_on(connection, 60)
    with at(10):
        assert walker.go_on(connection, 60) == 4
    assert Pause.objects.get().pk == pause.pk
    # An enqueue that began before the end commits after what was parked has been opened.
    Job.objects.filter(pk=stored(1, subject="shop-7")[0]).update(hold="pause")
    with at(10 + LATE_COMMITS.total_seconds() - 1):
        assert walker.go_on(connection, 60) == 0
    with at(10 + LATE_COMMITS.total_seconds()):
        assert walker.go_on(connection, 60) == 1
    assert not Pause.objects.exists()
    assert set(holds()) == {""}


def test_a_pause_of_lanes_that_ended_goes_too(walker: Walker) -> None:
    Pause.objects.create(scope="queue", name="mail", until=T)
    with at(61):
        walker.go_on(connection, 60)
    assert not Pause.objects.exists()


def test_what_no_pause_explains_is_opened_within_the_hour(walker: Walker) -> None:
    walker.go_on(connection, 60)
    stored(4)
    Job.objects.update(hold="pause")
    assert walker.go_on(connection, 60) == 0
    walker._swept_at -= SWEEP_EVERY_SECONDS
    assert walker.go_on(connection, 60) == 4


def test_nothing_to_do_costs_two_small_queries(walker: Walker, django_assert_max_num_queries: Any) -> None:
    paused(parked=True)
    walker.go_on(connection, 60)
    with django_assert_max_num_queries(4):  # two of them ask for the time
        assert walker.go_on(connection, 60) == 0


def test_a_pause_that_came_while_a_walk_was_under_way_gets_its_own(walker: Walker) -> None:
    ids = [stored(1, subject=subject)[0] for subject in ["shop-8"] * 3 + ["shop-7"] * 3]
    paused()
    walker.go_on(connection, 0)  # past the jobs of shop-8
    paused("shop-8")
    walker.go_on(connection, 60)
    assert set(Pause.objects.values_list("name", "parked")) == {("shop-7", True), ("shop-8", False)}
    walker.go_on(connection, 60)
    assert set(holds(pk__in=ids)) == {"pause"}


def test_a_pause_that_ended_while_a_walk_was_under_way_gets_its_own(walker: Walker) -> None:
    with at(0):
        for subject in ["shop-8"] * 3 + ["shop-7"] * 3:
            stored(1, subject=subject)
        Job.objects.update(hold="pause")
        first, second = paused(parked=True), paused("shop-8", parked=True)
        end(first, 0)
        walker.go_on(connection, 0)  # past the jobs of shop-8
        end(second, 0)
        walker.go_on(connection, 60)
        assert set(holds(subject="shop-8")) == {"pause"}
        walker.go_on(connection, 60)
        assert set(holds()) == {""}


def test_two_who_walk_know_nothing_of_each_others_place(walker: Walker) -> None:
    for subject in ["shop-8"] * 3 + ["shop-7"] * 3:
        stored(1, subject=subject)
    paused()
    assert walker.go_on(connection, 0) == 0  # past the jobs of shop-8
    paused("shop-8")
    assert Walker().go_on(connection, 60) == 6
    assert set(Pause.objects.values_list("parked", flat=True)) == {True}
    assert walker.go_on(connection, 60) == 0


@pytest.mark.django_db(transaction=True)
def test_one_process_at_a_time(on_postgres: None) -> None:
    stored(6, subject="shop-7")
    paused()
    with sessions(2) as (one, other):
        one.begin()
        assert one.do(lambda: Walker().go_on(connection, 0)) == 3
        assert other.do(lambda: Walker().go_on(connection, 60)) == 0
        one.commit()
        assert other.do(lambda: Walker().go_on(connection, 60)) == 3


KEEP = """
import django; django.setup()
from django.db import connection
from jobs_app.lifecycle import parking
from jobs_app.lifecycle.pause_walks import Walker
parking.ROWS_PER_CHUNK = 20
walker = Walker()
while True:
    walker.go_on(connection, 3600)
"""


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_while_it_parks_or_opens_leaves_no_harm(
    child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 2000)
    count = 4000
    stored(count, subject="shop-7")
    pause = paused()

    def kill_amid(hold: str) -> None:
        child = subprocess.Popen([sys.executable, "-c", KEEP], env=child_environment)
        try:
            until(lambda: Job.objects.filter(hold=hold).exists(), every=0.005)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(timeout=30)

    kill_amid("pause")
    go_on(lambda: set(holds()) == {"pause"})
    Pause.objects.filter(pk=pause.pk).update(until=pause.created_at, parked=True)
    kill_amid("")
    go_on(lambda: set(holds()) == {""})
    assert Job.objects.count() == count


def go_on(fact: Callable[[], bool]) -> None:
    """The lock of the killed one is gone when the server has noticed."""

    walker = Walker()

    def done() -> bool:
        walker.go_on(connection, 60)
        return fact()

    until(done)
