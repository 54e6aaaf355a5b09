"""Parking: chunk by chunk, by whoever has time, past what others are writing, and complete whatever is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle import control, parking, pause_walks
from jobs_app.lifecycle.pause_walks import LATE_COMMITS, SWEEP_EVERY_SECONDS, continue_pauses
from jobs_app.lifecycle.pauses import Pauses, read_pauses
from jobs_app.models import Job, Pause
from tests.lifecycle.rows import T, at, stored, take, taken_ids
from tests.lifecycle.sessions import sessions
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(pause_walks, "_swept_at", float("-inf"))
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 3)


def forget() -> None:
    """What a process forgets when it is killed."""
    pause_walks._places.clear()


def paused(name: str = "shop-7", **columns: Any) -> Pause:
    return Pause.objects.create(scope="subject", name=name, **columns)


def end(pause: Pause, at_second: float) -> None:
    """As an operator does it, without the work that follows."""
    Pause.objects.filter(pk=pause.pk).update(until=T + timedelta(seconds=at_second), parked=True)


def holds(**wanted: Any) -> list[str]:
    return list(Job.objects.filter(**wanted).order_by("pk").values_list("hold", flat=True))


def test_only_pauses_in_force_count_and_one_small_query_tells() -> None:
    for scope, name in [("all", ""), ("queue", "mail"), ("job_type", "work"), ("subject", "shop-7")]:
        Pause.objects.create(scope=scope, name=name, until=T + timedelta(seconds=10))
    paused("shop-8")
    with at(9):
        assert read_pauses(connection) == Pauses(
            everything=True,
            queues=frozenset({"mail"}),
            are_unfinished=True,
            job_types=frozenset({"work"}),
            subjects=frozenset({"shop-7", "shop-8"}),
        )
    with at(10):
        assert read_pauses(connection) == Pauses(subjects=frozenset({"shop-8"}), are_unfinished=True)


def test_a_pause_is_unfinished_until_all_is_parked_and_from_its_end_on_until_it_is_gone() -> None:
    pause = paused(until=T + timedelta(seconds=10))
    Pause.objects.create(scope="queue", name="mail")
    seen = []
    for second, parked in [(0, False), (1, True), (11, True)]:
        Pause.objects.filter(pk=pause.pk).update(parked=parked)
        with at(second):
            seen.append(read_pauses(connection).are_unfinished)
    pause.delete()
    assert [*seen, read_pauses(connection).are_unfinished] == [True, False, True, False]


def test_nothing_paused_allows_everything_and_is_asked_for_in_one_query(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        pauses = read_pauses(connection)
    assert pauses == Pauses()
    assert pauses.allows("mail")
    assert not Pauses(everything=True).allows("mail")
    assert not Pauses(queues=frozenset({"mail"})).allows("mail")
    assert Pauses(queues=frozenset({"mail"})).allows("other")
    assert Pauses(everything=True, queues=frozenset({"jobs.system"})).allows("jobs.system")


def test_what_comes_back_is_due_from_now_on_in_the_order_it_had() -> None:
    """Claims read on from where they stopped: what has an older date would be found late."""
    with at(0):
        ids = stored(7, subject="shop-7")
        [later] = stored(1, subject="shop-7", delay=7200)
        Job.objects.update(hold="pause")
        pause = paused()
        end(pause, 1)
    with at(3600):
        assert continue_pauses(connection, 60) == 8
        assert set(Job.objects.exclude(pk=later).values_list("run_at", flat=True)) == {T + timedelta(hours=1)}
        assert Job.objects.get(pk=later).run_at == T + timedelta(hours=2)
        assert taken_ids() == ids


def test_also_where_the_next_one_is_parked_by_a_later_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 1)
    for subject in ("shop-7", "shop-7", "shop-8"):
        stored(1, subject=subject, policy="singleton", key="k", gate=2)
    first = Job.objects.order_by("pk").values_list("pk", flat=True)[0]
    Job.objects.update(hold="key")
    Job.objects.filter(pk=first).update(hold="")
    paused()
    continue_pauses(connection, 60)
    assert holds() == ["pause", "pause", "new"]


def test_a_walk_goes_on_where_it_stopped_and_notes_the_end() -> None:
    stored(8, subject="shop-7")
    pause = paused()
    moved = [continue_pauses(connection, 0) for _ in range(3)]
    assert moved == [3, 3, 2]
    pause.refresh_from_db()
    assert pause.parked
    assert continue_pauses(connection, 60) == 0


@pytest.mark.parametrize("kills", range(4))
def test_whoever_is_killed_the_next_one_completes_it(kills: int) -> None:
    with at(0):
        stored(8, subject="shop-7")
        stored(4, subject="shop-8")
        pause = paused()
        for _ in range(kills):
            continue_pauses(connection, 0)
            forget()
        continue_pauses(connection, 60)
        assert set(holds(subject="shop-7")) == {"pause"}
        assert set(holds(subject="shop-8")) == {""}
        end(pause, 0)
        for _ in range(kills):
            continue_pauses(connection, 0)
            forget()
        continue_pauses(connection, 60)
        assert set(holds()) == {""}


@pytest.mark.django_db(transaction=True)
def test_a_chunk_that_fails_is_taken_back_and_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(5, subject="shop-7")
    paused()
    monkeypatch.setattr(parking, "wake_next", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        continue_pauses(connection, 60)
    assert set(holds()) == {""}
    monkeypatch.undo()
    assert continue_pauses(connection, 60) == 5


def test_a_pause_that_ended_leaves_its_row_when_nothing_can_be_behind_it_any_more() -> None:
    with at(0):
        stored(4, subject="shop-7")
        pause = paused(until=T + timedelta(seconds=10))
        continue_pauses(connection, 60)
    with at(10):
        assert continue_pauses(connection, 60) == 4
    assert Pause.objects.get().pk == pause.pk
    # An enqueue that began before the end commits after what was parked has been opened.
    Job.objects.filter(pk=stored(1, subject="shop-7")[0]).update(hold="pause")
    with at(10 + LATE_COMMITS.total_seconds() - 1):
        assert continue_pauses(connection, 60) == 0
    with at(10 + LATE_COMMITS.total_seconds()):
        assert continue_pauses(connection, 60) == 1
    assert not Pause.objects.exists()
    assert set(holds()) == {""}


def test_a_pause_of_lanes_that_ended_goes_too() -> None:
    Pause.objects.create(scope="queue", name="mail", until=T)
    with at(61):
        continue_pauses(connection, 60)
    assert not Pause.objects.exists()


def test_what_no_pause_explains_is_opened_within_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    continue_pauses(connection, 60)
    stored(4)
    Job.objects.update(hold="pause")
    assert continue_pauses(connection, 60) == 0
    monkeypatch.setattr(pause_walks, "_swept_at", pause_walks._swept_at - SWEEP_EVERY_SECONDS)
    assert continue_pauses(connection, 60) == 4


def test_nothing_to_do_costs_two_small_queries(django_assert_max_num_queries: Any) -> None:
    paused(parked=True)
    continue_pauses(connection, 60)
    with django_assert_max_num_queries(4):  # two of them ask for the time
        assert continue_pauses(connection, 60) == 0


def test_a_pause_that_came_while_a_walk_was_under_way_gets_its_own() -> None:
    ids = [stored(1, subject=subject)[0] for subject in ["shop-8"] * 3 + ["shop-7"] * 3]
    paused()
    continue_pauses(connection, 0)  # past the jobs of shop-8
    paused("shop-8")
    continue_pauses(connection, 60)
    assert set(Pause.objects.values_list("name", "parked")) == {("shop-7", True), ("shop-8", False)}
    continue_pauses(connection, 60)
    assert set(holds(pk__in=ids)) == {"pause"}


def test_a_pause_that_ended_while_a_walk_was_under_way_gets_its_own() -> None:
    with at(0):
        for subject in ["shop-8"] * 3 + ["shop-7"] * 3:
            stored(1, subject=subject)
        Job.objects.update(hold="pause")
        first, second = paused(parked=True), paused("shop-8", parked=True)
        end(first, 0)
        continue_pauses(connection, 0)  # past the jobs of shop-8
        end(second, 0)
        continue_pauses(connection, 60)
        assert set(holds(subject="shop-8")) == {"pause"}
        continue_pauses(connection, 60)
        assert set(holds()) == {""}


@pytest.mark.django_db(transaction=True)
def test_rows_that_others_are_writing_are_passed(on_postgres: None) -> None:
    ids = stored(4, subject="shop-7")
    paused()
    with sessions(1) as [worker]:
        worker.begin()
        [taken] = worker.do(take, 1)
        assert continue_pauses(connection, 60) == 3
        worker.rollback()
    assert holds(pk=taken.id) == [""]
    assert set(holds(pk__in=set(ids) - {taken.id})) == {"pause"}


@pytest.mark.django_db(transaction=True)
def test_claims_go_on_while_a_chunk_is_being_written(on_postgres: None) -> None:
    stored(3, subject="shop-7")
    [other] = stored(1, subject="shop-8")
    paused()
    with sessions(2) as (keeper, worker):
        keeper.begin()
        keeper.do(continue_pauses, connection, 0)
        assert worker.do(taken_ids) == [other]
        keeper.commit()


@pytest.mark.django_db(transaction=True)
def test_one_process_at_a_time(on_postgres: None) -> None:
    stored(6, subject="shop-7")
    paused()
    with sessions(2) as (one, other):
        one.begin()
        assert one.do(lambda: continue_pauses(connection, 0)) == 3
        assert other.do(lambda: continue_pauses(connection, 60)) == 0
        one.commit()
        assert other.do(lambda: continue_pauses(connection, 60)) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scope", ["subject", "job_type"])
def test_a_pause_is_complete_also_where_enqueues_go_on(scope: str) -> None:
    """What the walk does not see, the enqueue parks itself; what neither does, claims leave out."""
    name = {"subject": "shop-7", "job_type": "work"}[scope]
    stored(4, subject="shop-7")
    Pause.objects.create(scope=scope, name=name)
    continue_pauses(connection, 0)
    stored(4, subject="shop-7")
    continue_pauses(connection, 60)
    assert set(holds()) == {"pause"}


KEEP = """
import django; django.setup()
from django.db import connection
from jobs_app.lifecycle import parking, pause_walks
parking.ROWS_PER_CHUNK = 20
while True:
    pause_walks.continue_pauses(connection, 3600)
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

    def done() -> bool:
        continue_pauses(connection, 60)
        return fact()

    until(done)


def test_the_ids_of_slots_are_walked_too() -> None:
    """A job may have any id: those of slots are made from their date."""
    for run_id in (UUID(int=1), UUID(int=2**128 - 1)):
        stored(1, id=run_id, subject="shop-7")
    assert control.pause("subject", "shop-7", "ann").jobs == 2
