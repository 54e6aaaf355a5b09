"""The desk: what it hands out, what it remembers, and that it does so side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import Job
from jobs_app.worker.desk import Asker, Desk
from jobs_app.worker.ration import Ration
from tests.lifecycle.clock import Clock
from tests.lifecycle.rows import at, done

pytestmark = pytest.mark.django_db

ASKER = Asker("worker-1", 60.0)


@pytest.fixture
def work() -> Any:
    @job
    def work() -> None: ...

    return work


def new_desk(clock: Clock | None = None, **changes: Any) -> Desk:
    given = {"serves": lambda queue: True, "takes": lambda job_type: True, "clock": clock or Clock()}
    return Desk(**given | changes)


def ask(desk: Desk) -> ClaimedJob | None:
    return desk.claim(connection, ASKER)


def test_jobs_are_handed_out_most_urgent_first_and_each_once(work: Any) -> None:
    with at(0):
        late, low = work.options(delay=1).enqueue(), work.options(priority=-5).enqueue()
        first, urgent = work.enqueue(), work.options(priority=9).enqueue()
    desk = new_desk()
    with at(2):
        got = [ask(desk) for _ in range(5)]
    assert [each and each.id for each in got] == [urgent.id, first.id, late.id, low.id, None]


def test_what_comes_into_a_new_lane_is_found_at_once(work: Any) -> None:
    desk = new_desk()
    assert ask(desk) is None
    run = work.options(queue="brand-new", priority=3).enqueue()
    found = ask(desk)
    assert found is not None
    assert found.id == run.id


def test_a_pause_holds_from_the_next_look_on(work: Any) -> None:
    clock = Clock()
    desk = new_desk(clock)
    work.enqueue_many([{}] * 3)
    assert ask(desk) is not None
    control.pause("queue", "default", "ann")
    clock.now += 1.1
    assert ask(desk) is None
    control.resume("queue", "default", "ann")
    clock.now += 1.1
    assert ask(desk) is not None


def test_a_limit_of_the_whole_cluster_holds_and_the_end_of_one_lets_the_next_in() -> None:
    @job(concurrency=1)
    def alone() -> None: ...

    first, second = alone.enqueue(), alone.enqueue()
    desk = new_desk()
    found = ask(desk)
    assert found is not None
    assert (found.id, ask(desk)) == (first.id, None)
    assert done(found)
    desk.freed("default")
    found = ask(desk)
    assert found is not None
    assert found.id == second.id


def test_a_limit_that_came_after_a_job_was_stored_sends_it_to_its_gate(work: Any) -> None:
    run = work.enqueue()
    control.limit_queue("default", "ann", concurrency=1)
    desk = new_desk()
    found = ask(desk)
    assert found is not None  # put back to its gate, let in, and claimed again
    assert (found.id, Job.objects.get(pk=run.id).gate, found.attempts) == (run.id, 1, 1)


def test_claims_go_on_where_the_last_one_stopped(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs_app.worker import desk as module

    starts: list[Any] = []
    real = module.claim
    monkeypatch.setattr(module, "claim", lambda *given: starts.append(given[2]) or real(*given))
    with at(0):
        work.enqueue_many([{}] * 3)
    desk = new_desk()
    with at(1):
        first = ask(desk)
        ask(desk)
    assert first is not None
    [last] = starts[-1]
    assert (last.run_at, last.id) == (first.run_at, first.id)


def test_where_looking_is_slow_it_is_done_seldom(work: Any) -> None:
    clock = Clock()
    ration = Ration(clock)
    desk = new_desk(clock, ration=ration)
    ration.spent(1.0)  # by another desk: an old open transaction, say
    work.enqueue()
    assert ask(desk) is None
    assert desk.empty_at == float("-inf")
    clock.now += 20.1
    assert ask(desk) is not None
    assert desk.empty_at == float("-inf")
    assert ask(desk) is None
    assert desk.empty_at == clock.now


@pytest.mark.django_db(transaction=True)
def test_many_threads_ask_at_once_and_each_job_goes_to_one(work: Any) -> None:
    runs = {run.id for run in work.enqueue_many([{}] * 60)}
    desk = Desk(serves=lambda queue: True, takes=lambda job_type: True)

    def take_all(number: int) -> list[UUID]:
        try:
            mine = []
            while found := desk.claim(jobs_connection(), Asker(f"worker-{number}", 60.0)):
                mine.append(found.id)
            return mine
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        got = [run_id for mine in pool.map(take_all, range(6)) for run_id in mine]
    assert len(got) == 60
    assert set(got) == runs
