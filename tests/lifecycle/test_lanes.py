"""Where claims read: lanes are found by skipping through the index; a remembered start skips nothing that matters."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.ids import uuid7
from jobs_app.lifecycle.lanes import AHEAD, ANY, BEGINNING, Kind, Lanes, Start, find_lanes
from jobs_app.models import Hold, Job
from tests.lifecycle.clock import Clock
from tests.lifecycle.rows import T, at, done, stored, take, taken_ids
from tests.lifecycle.sessions import sessions


@pytest.fixture
def lanes(clock: Clock) -> Lanes:
    """A claimer that serves every queue but `other`."""
    known = Lanes(lambda queue: queue != "other", clock)
    known.learn([("default", 0)])
    return known


def claimed(lanes: Lanes, limit: int = 10, *, walk: bool = False, kind: Kind = ANY) -> list[UUID]:
    """Claim from the remembered starts and remember where it stopped, as the claimer does."""
    ids = taken_ids(limit, starts=lanes.starts(walk=walk, kind=kind), retryable_only=kind == AHEAD)
    for job in Job.objects.filter(pk__in=ids):
        lanes.remember(job.queue, job.priority, job.run_at, job.id, kind=kind)
    return ids


@pytest.mark.django_db
def test_every_queue_and_priority_with_something_open_is_a_lane() -> None:
    for queue in ("b", "a", "c"):
        for priority in (0, 7, -100):
            stored(3, queue=queue, priority=priority)
    stored(queue="held")
    Job.objects.filter(queue="held").update(hold=Hold.PAUSE)
    stored(queue="running")
    taken_ids(starts=[Start("running", 0)])
    assert sorted(find_lanes(connection)) == [(queue, priority) for queue in "abc" for priority in (-100, 0, 7)]


@pytest.mark.django_db
def test_no_jobs_no_lanes() -> None:
    assert find_lanes(connection) == []


def test_a_claimer_learns_only_lanes_it_serves_and_forgets_those_that_stay_empty(lanes: Lanes, clock: Clock) -> None:
    lanes.learn([("other", 0), ("mail", 5)])
    assert set(lanes.known) == {("default", 0), ("mail", 5)}
    clock.now += 40
    lanes.learn([("mail", 5)])
    clock.now += 40
    lanes.learn([])
    assert set(lanes.known) == {("mail", 5)}


def test_the_most_urgent_lane_comes_first(lanes: Lanes) -> None:
    lanes.learn([("default", -5), ("mail", 5), ("default", 9)])
    assert [start.priority for start in lanes.starts(walk=True)] == [9, 5, 0, -5]


@pytest.mark.parametrize("more", [[], [("a", priority) for priority in range(1, 11)], [("x", 9), ("b", -3)]])
def test_queues_of_one_priority_take_turns_whatever_other_lanes_there_are(
    clock: Clock, more: list[tuple[str, int]]
) -> None:
    lanes = Lanes(lambda queue: True, clock)
    lanes.learn([("a", 0), ("b", 0), ("c", 0), *more])
    firsts = Counter(
        next(start.queue for start in lanes.starts(walk=False) if start.priority == 0) for _ in range(3 * 60)
    )
    assert firsts == {"a": 60, "b": 60, "c": 60}


@pytest.mark.django_db
def test_two_full_lanes_are_drained_side_by_side(lanes: Lanes) -> None:
    first, second = stored(20), stored(20, queue="mail")
    lanes.learn(find_lanes(connection))
    turns = [claimed(lanes, 5) for _ in range(8)]
    assert all(set(turn) <= set(first) or set(turn) <= set(second) for turn in turns)
    assert [set(turn) <= set(first) for turn in turns] in ([True, False] * 4, [False, True] * 4)


def test_a_lane_with_nothing_for_this_worker_is_left_to_walks(lanes: Lanes) -> None:
    lanes.learn([("mail", 5)])
    first = lanes.starts(walk=False)
    assert len(first) == 2
    lanes.exhausted(first)
    assert lanes.starts(walk=False) == []
    assert len(lanes.starts(walk=True)) == 2
    assert len(lanes.starts(walk=False, kind=AHEAD)) == 2
    lanes.remember("mail", 5, T, UUID(int=1))
    assert [start.queue for start in lanes.starts(walk=False)] == ["mail"]


@pytest.mark.django_db
def test_a_claim_starts_where_the_last_one_stopped(lanes: Lanes, clock: Clock) -> None:
    with at(0):
        ids = stored(10)
        assert claimed(lanes, 4) == ids[:4]
    [start] = lanes.starts(walk=False)
    assert (start.run_at, start.id) == (T, ids[3])
    with at(0):
        assert claimed(lanes, 4) == ids[4:8]


def test_the_mark_never_goes_back(lanes: Lanes) -> None:
    high = (T + timedelta(seconds=5), uuid7())
    lanes.starts(walk=False)  # the look-back of this second
    lanes.remember("default", 0, *high)
    lanes.remember("default", 0, T, uuid7())
    assert lanes.starts(walk=False) == [Start("default", 0, *high)]


@pytest.mark.django_db
def test_a_commit_that_came_late_is_found_by_the_look_back(lanes: Lanes, clock: Clock) -> None:
    with at(0):
        stored()
        assert len(claimed(lanes)) == 1
    with at(-59):
        [late] = stored()
    with at(1):
        if connection.vendor == "postgresql":
            assert claimed(lanes) == []
        clock.now += 1.0
        assert claimed(lanes) == [late]


@pytest.mark.django_db
@pytest.mark.usefixtures("on_postgres")
def test_a_commit_that_came_very_late_is_found_by_a_walk(lanes: Lanes, clock: Clock) -> None:
    with at(0):
        stored()
        assert len(claimed(lanes)) == 1
    with at(-3600):
        [late] = stored()
    with at(1):
        clock.now += 5
        assert claimed(lanes) == []
        assert claimed(lanes, walk=True) == [late]


@pytest.mark.django_db
def test_what_goes_back_to_wait_is_in_front_of_the_mark(lanes: Lanes) -> None:
    with at(0):
        ids = stored(3)
        jobs = take(3, starts=lanes.starts(walk=False))
        for job in jobs:
            lanes.remember(job.queue, job.priority, job.run_at, job.id)
    with at(5):
        assert all(done(job, "queued") for job in jobs)
        assert claimed(lanes) == ids


@pytest.mark.django_db
def test_jobs_claimed_ahead_do_not_hide_older_ones_of_other_kinds(lanes: Lanes, clock: Clock) -> None:
    """Claimed ahead are only short types, so their claims run far past everything else in the lane."""
    with at(-600):
        slow = stored(5, max_attempts=1)
        short = stored(20)
    with at(0):
        claimed(lanes, walk=True, limit=1)
        clock.now += 0.1
        assert claimed(lanes, 15, kind=AHEAD) == short[:15]
        assert claimed(lanes, 4) == slow[1:]
        assert claimed(lanes, 15, kind=AHEAD) == short[15:]


def test_claims_ahead_remember_a_place_of_their_own(lanes: Lanes) -> None:
    for kind in (ANY, AHEAD):
        lanes.starts(walk=False, kind=kind)  # the look-back of this second
    place, ahead = (T, uuid7()), (T + timedelta(minutes=9), uuid7())
    lanes.remember("default", 0, *place)
    lanes.remember("default", 0, *ahead, kind=AHEAD)
    assert lanes.starts(walk=False) == [Start("default", 0, *place)]
    assert lanes.starts(walk=False, kind=AHEAD) == [Start("default", 0, *ahead)]


def test_the_look_back_is_a_minute_once_a_second(lanes: Lanes, clock: Clock) -> None:
    mark = (T, uuid7())
    lanes.remember("default", 0, *mark)
    starts = []
    for _ in range(17):
        starts += lanes.starts(walk=False)
        clock.now += 0.125
    back = Start("default", 0, T - timedelta(seconds=60), UUID(int=0))
    assert [number for number, start in enumerate(starts) if start == back] == [0, 8, 16]
    assert set(starts) == {back, Start("default", 0, *mark)}


def test_a_walk_reads_from_the_beginning_and_so_does_a_lane_that_is_new(lanes: Lanes) -> None:
    beginning = Start("default", 0, *BEGINNING)
    assert lanes.starts(walk=False) == [beginning]
    lanes.remember("default", 0, T, uuid7())
    assert lanes.starts(walk=True) == [beginning]


def test_a_walk_is_rationed_by_what_the_last_one_cost(lanes: Lanes, clock: Clock) -> None:
    assert lanes.may_walk()
    lanes.walked(0.5)
    clock.now += 9.9
    assert not lanes.may_walk()
    clock.now += 0.2
    assert lanes.may_walk()
    lanes.walked(0.0)
    assert lanes.may_walk()


def test_walks_of_one_round_for_several_job_types_count_together(lanes: Lanes, clock: Clock) -> None:
    for _ in range(3):
        lanes.walked(0.5)
    clock.now += 29
    assert not lanes.may_walk()
    clock.now += 1
    assert lanes.may_walk()
    lanes.walked(0.5)
    clock.now += 10
    assert lanes.may_walk()


def test_a_lane_that_never_comes_back_short_is_walked_every_ten_seconds(lanes: Lanes, clock: Clock) -> None:
    assert lanes.is_walk_due()
    lanes.walked(0.001)
    clock.now += 9.9
    assert lanes.may_walk()
    assert not lanes.is_walk_due()
    clock.now += 0.2
    assert lanes.is_walk_due()
    lanes.walked(60)
    clock.now += 1199
    assert not lanes.may_walk()
    clock.now += 2
    assert lanes.may_walk()
    assert lanes.is_walk_due()


def test_a_look_back_that_took_long_is_rationed(lanes: Lanes, clock: Clock) -> None:
    """As while the backlog of a paused subject is still to be parked."""
    mark = (T, uuid7())
    lanes.remember("default", 0, *mark)
    lanes.claimed(lanes.starts(walk=False), 3.0)
    clock.now += 59
    assert lanes.starts(walk=False) == [Start("default", 0, *mark)]
    clock.now += 2
    assert lanes.starts(walk=False)[0].run_at < T
    lanes.claimed(lanes.starts(walk=False), 3.0)  # not back again: what it cost says nothing
    clock.now += 61
    lanes.claimed(lanes.starts(walk=False), 0.001)
    clock.now += 1.1
    assert lanes.starts(walk=False)[0].run_at < T


def test_a_first_claim_from_the_beginning_counts_as_a_walk(lanes: Lanes, clock: Clock) -> None:
    lanes.claimed(lanes.starts(walk=False), 3.0)
    assert not lanes.may_walk()
    mark = (T, uuid7())
    lanes.remember("default", 0, *mark)
    clock.now += 59
    assert lanes.starts(walk=False) == [Start("default", 0, *mark)]


def test_a_claim_that_had_no_lane_to_read_counts_as_nothing(lanes: Lanes) -> None:
    """Else a lane that is left to the walks would wait for one for ever."""
    lanes.claimed([], 0.1)
    assert lanes.may_walk()
    assert lanes.is_walk_due()


def test_a_lane_forgotten_between_claim_and_answer_costs_nothing(lanes: Lanes, clock: Clock) -> None:
    lanes.starts(walk=False)
    clock.now += 61
    lanes.learn([])
    assert not lanes.known
    lanes.remember("default", 0, T, uuid7())


def test_the_listener_may_teach_while_the_claimer_claims(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.lifecycle.lanes.FORGET_AFTER_SECONDS", -1)  # each lesson forgets all lanes before it
    stop = threading.Event()

    def teach() -> None:
        while not stop.is_set():
            lanes.learn((f"queue-{number}", 0) for number in range(50))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(max_workers=2) as listeners:
            lessons = [listeners.submit(teach) for _ in range(2)]
            try:
                for _ in range(300):
                    lanes.learn([("default", 0)])
                    for start in lanes.starts(walk=False)[:3]:
                        lanes.remember(start.queue, start.priority, T, uuid7())
            finally:
                stop.set()
            assert [lesson.result() for lesson in lessons] == [None, None]
    finally:
        sys.setswitchinterval(before)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_what_another_claimer_locked_and_gave_up_is_found_again(lanes: Lanes, clock: Clock) -> None:
    ids = stored(4)
    with sessions(1) as [other]:
        other.begin()
        assert other.do(taken_ids, 2) == ids[:2]
        assert claimed(lanes) == ids[2:]
        other.rollback()
    clock.now += 1
    assert claimed(lanes) == ids[:2]
