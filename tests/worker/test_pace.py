"""How much may be claimed before a thread is free for it."""

from __future__ import annotations

import pytest

from jobs_app.worker.pace import AHEAD_SECONDS, LEAST_AHEAD, MOST_PER_CHUNK, OWN_SECONDS, SEEN_ENOUGH, Pace


def seen(seconds: float, times: int = SEEN_ENOUGH) -> Pace:
    pace = Pace()
    for _ in range(times):
        pace.note("work", seconds)
    return pace


def test_a_type_is_short_only_when_it_was_seen_to_be() -> None:
    assert not Pace().is_short("work")
    assert not seen(0.0001, SEEN_ENOUGH - 1).is_short("work")
    assert seen(0.0001).short_types(["work", "other"]) == ["work"]
    assert not seen(0.5).is_short("work")


def test_the_first_jobs_are_slow_because_they_load_what_the_others_find() -> None:
    pace = Pace()
    for seconds in (0.2, 0.01, 0.0001, 0.0001, 0.003):
        pace.note("work", seconds)
    assert pace.is_tiny("work")
    for _ in range(20):
        pace.note("work", 0.003)
    assert pace.is_short("work")
    assert not pace.is_tiny("work")


def test_a_slow_job_makes_its_type_long_again_for_a_while() -> None:
    pace = seen(0.0001)
    pace.note("work", 1)
    assert not pace.is_short("work")
    for _ in range(50):
        pace.note("work", 0.0001)
    assert pace.is_short("work")


def test_a_thread_takes_a_long_job_alone_and_short_ones_together() -> None:
    assert seen(0.5).chunk("work", 100, threads=10) == 1
    assert seen(0.0005).chunk("work", 100, threads=10) == 4
    assert seen(0.0005).chunk("work", 20, threads=10) == 2  # all threads have a part


def test_tiny_jobs_are_not_spread_over_threads_that_would_wait_for_each_other() -> None:
    assert seen(0.0001).chunk("work", 20, threads=10) == 100
    assert seen(0.0).chunk("work", 20, threads=10) == MOST_PER_CHUNK


def test_many_that_are_noted_together_count_as_if_one_by_one() -> None:
    one_by_one, together = seen(0.001), seen(0.001)
    for _ in range(20):
        one_by_one.note("work", 0.0001)
    together.note("work", 20 * 0.0001, 20)
    assert together._mean["work"] == pytest.approx(one_by_one._mean["work"])


def test_the_buffer_is_what_the_threads_do_in_a_moment() -> None:
    assert Pace().ahead(1) == LEAST_AHEAD
    assert seen(0.0, 1000).ahead(10) == int(AHEAD_SECONDS / OWN_SECONDS)
    assert LEAST_AHEAD < seen(0.002, 1000).ahead(10) < seen(0.001, 1000).ahead(10) < seen(0.0, 1000).ahead(10)
    assert seen(0.001, 1000).ahead(1) < seen(0.001, 1000).ahead(10)


def test_long_jobs_do_not_count_for_the_buffer_of_short_ones() -> None:
    pace = seen(0.0005, 1000)
    before = pace.ahead(10)
    pace.note("long", 60, 10)
    assert pace.ahead(10) == before
