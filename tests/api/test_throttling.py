"""How often a token may call, and how many pulls may wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.api.throttling import BURST_SECONDS, MOST_BUCKETS, Buckets
from jobs_app.lifecycle import control
from jobs_app.models import Job
from jobs_app.remote.waiting import room
from tests.api.speaking import Speaker
from tests.api.tenants import define
from tests.waiting import until


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def buckets(clock: Clock) -> Buckets:
    return Buckets(clock)


def taken(buckets: Buckets, per_minute: int, name: object = "one") -> int:
    """How many are let in at this moment."""
    count = 0
    while buckets.take(name, per_minute) is None:
        count += 1
    return count


def test_what_was_saved_up_in_a_few_seconds_may_come_at_once_and_the_rest_evenly(
    buckets: Buckets, clock: Clock
) -> None:
    assert taken(buckets, 60) == BURST_SECONDS
    for _ in range(3):
        assert buckets.take("one", 60) == 1
        clock.now += 1
        assert taken(buckets, 60) == 1


def test_an_hour_of_silence_saves_up_no_more_than_that(buckets: Buckets, clock: Clock) -> None:
    taken(buckets, 60)
    clock.now += 3600
    assert taken(buckets, 60) == BURST_SECONDS


@pytest.mark.parametrize("per_minute", [1, 2, 5, 6, 7, 60, 6000, 1_000_000])
def test_who_comes_when_told_to_is_let_in_and_a_moment_before_is_not(
    per_minute: int, buckets: Buckets, clock: Clock
) -> None:
    taken(buckets, per_minute)
    for _ in range(3):
        wait = buckets.take("one", per_minute)
        assert wait is not None
        assert 0 < wait <= 60 / per_minute * 1.001
        clock.now += wait * 0.99
        assert buckets.take("one", per_minute) is not None
        clock.now += wait * 0.0101
        assert buckets.take("one", per_minute) is None


def test_no_number_is_any_number(buckets: Buckets) -> None:
    assert all(buckets.take("one", 0) is None for _ in range(100_000))


def test_one_has_nothing_to_do_with_another(buckets: Buckets) -> None:
    assert taken(buckets, 6, "one") == 1
    assert taken(buckets, 6, "other") == 1


def test_a_lower_number_is_in_force_at_once(buckets: Buckets) -> None:
    assert taken(buckets, 6000) == 1000
    assert buckets.take("one", 1) is not None


def test_only_so_many_are_remembered_those_that_came_last(buckets: Buckets) -> None:
    for name in range(MOST_BUCKETS + 1):
        buckets.take(name, 1)
    assert len(buckets._free_at) == MOST_BUCKETS
    assert buckets.take(MOST_BUCKETS, 1) is not None
    assert buckets.take(0, 1) is None


def test_threads_that_come_at_once_get_no_more(buckets: Buckets) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: buckets.take("one", 240), range(1000)))
    assert found.count(None) == 40


@given(st.lists(st.floats(0, 20), max_size=60), st.integers(1, 600))
def test_no_stretch_of_time_sees_more_than_its_share_and_a_burst(pauses: list[float], per_minute: int) -> None:
    clock = Clock()
    buckets = Buckets(clock)
    let_in: list[float] = []
    for pause in pauses:
        clock.now += pause
        let_in += [clock.now for _ in range(5) if buckets.take("one", per_minute) is None]
    step = 60 / per_minute
    for place, begin in enumerate(let_in):
        for count, end in enumerate(let_in[place:], 1):
            assert count <= (end - begin + max(BURST_SECONDS, step)) / step + 1e-6


@pytest.mark.django_db
def test_a_token_that_calls_too_often_is_told_when_to_come_again(settings: Any) -> None:
    settings.JOBS = {"API_REQUESTS_PER_MINUTE": 6}
    hasty, other = Speaker("read"), Speaker("read")
    assert hasty.get("runs").status_code == 200
    answer = hasty.get("runs")
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 10
    assert answer.json()["detail"]
    assert other.get("runs").status_code == 200


@pytest.mark.django_db
def test_refusals_count_too_and_strangers_take_nothing_of_it(settings: Any) -> None:
    settings.JOBS = {"API_REQUESTS_PER_MINUTE": 6}
    speaker = Speaker("read")
    for _ in range(5):
        speaker.client.get("/jobs/api/runs", headers={"Authorization": f"Bearer {speaker.text[:-1]}"})
    assert speaker.post("leave", {"worker_id": "w1"}).status_code == 403
    assert speaker.get("runs").status_code == 429


@pytest.fixture
def in_thread(transactional_db: None) -> Iterator[Callable[..., Future[Any]]]:
    """Ask from another thread, whose connection ends with it."""
    threads = ThreadPoolExecutor(4)

    def start(act: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        def work() -> Any:
            try:
                return act(*arguments, **named)
            finally:
                connections.close_all()

        return threads.submit(work)

    yield start
    threads.shutdown()


def test_no_more_pulls_wait_than_may(in_thread: Callable[..., Future[Any]], settings: Any) -> None:
    settings.JOBS = {"API_MAX_WAITING": 2, "WORKER_POLL_SECONDS": 0.05}
    work, speaker = define("work"), Speaker()
    waiting = [in_thread(speaker.pull, name, wait_sec=30) for name in ("w1", "w2")]
    until(lambda: len(room) == 2, every=0.01)
    for ask in (lambda: speaker.post("pull_job", {"worker_id": "w3", "wait_sec": 1}), lambda: one_more(speaker)):
        answer = ask()
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) >= 1
        assert "wait_sec" in answer.json()["detail"]
    assert speaker.pull("w3")["job"] is None  # who does not wait is answered
    for _ in waiting:
        work.enqueue()
    assert {each.result(timeout=30)["job"]["job_type"] for each in waiting} == {"work"}
    assert len(room) == 0
    assert Job.objects.filter(state="running").count() == 2


def one_more(speaker: Speaker) -> Any:
    return speaker.get("pull_job", worker_id="w3", wait_sec=1)


def test_nobody_may_wait_where_none_may(transactional_db: None, settings: Any) -> None:
    settings.JOBS = {"API_MAX_WAITING": 0}
    define("work")
    speaker = Speaker()
    assert speaker.get("pull_job", worker_id="w1", wait_sec=1).status_code == 429
    assert speaker.get("pull_job", worker_id="w1").status_code == 200


def test_a_pull_whose_token_is_revoked_gets_nothing_that_comes_later(
    in_thread: Callable[..., Future[Any]], settings: Any
) -> None:
    settings.JOBS = {"WORKER_POLL_SECONDS": 0.05}
    work, speaker = define("work"), Speaker("pull")
    waiting = [in_thread(speaker.get, "pull_job", worker_id=name, wait_sec=30) for name in ("w1", "w2", "w3")]
    until(lambda: len(room) == 3, every=0.01)
    control.revoke_token(speaker.text, "ann")
    run = work.enqueue()
    for each in waiting:
        answer = each.result(timeout=5)
        assert answer.status_code == 401
        assert "job" not in answer.json()
    assert Job.objects.get(pk=run.id).state == "queued"


def test_nor_does_it_hear_why_there_was_nothing(in_thread: Callable[..., Future[Any]]) -> None:
    define("work")
    speaker = Speaker("pull")
    waiting = in_thread(speaker.get, "pull_job", worker_id="w1", wait_sec=1)
    until(lambda: len(room) == 1, every=0.01)
    control.revoke_token(speaker.text, "ann")
    assert waiting.result(timeout=10).status_code == 401
