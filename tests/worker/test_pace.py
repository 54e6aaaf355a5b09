"""How much may be claimed before a thread is free for it."""

from __future__ import annotations

from jobs_app.worker.pace import LEAST_AHEAD, MOST_AHEAD, MOST_PER_CHUNK, SEEN_ENOUGH, Pace


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


def test_a_slow_job_makes_its_type_long_again_for_a_while() -> None:
    pace = seen(0.0001)
    pace.note("work", 1)
    assert not pace.is_short("work")
    for _ in range(50):
        pace.note("work", 0.0001)
    assert pace.is_short("work")


def test_a_thread_takes_a_long_job_alone_and_short_ones_together() -> None:
    assert seen(0.5).chunk("work") == 1
    assert seen(0.0005).chunk("work") == 4
    assert seen(0.0).chunk("work") == MOST_PER_CHUNK


def test_the_buffer_follows_the_rate_within_bounds() -> None:
    pace = Pace()
    assert pace.ahead() == LEAST_AHEAD
    pace._since -= 1
    for _ in range(4000):
        pace.note("work", 0.0001)
    assert LEAST_AHEAD < pace.ahead() <= 4000 * 0.05
    pace._since -= 1
    pace._count = 10**6
    assert pace.ahead() == MOST_AHEAD
