"""Looks at everything: as often as anybody likes while they are cheap, a twentieth of the time when they are not."""

from __future__ import annotations

from jobs_app.worker.ration import Ration
from tests.lifecycle.clock import Clock


def test_what_is_cheap_is_not_rationed() -> None:
    ration = Ration(Clock())
    for _ in range(3):
        assert ration.allows()
        ration.spent(0.004)


def test_what_is_slow_has_a_share_of_the_time() -> None:
    clock = Clock()
    ration = Ration(clock)
    ration.spent(0.5)
    assert not ration.allows()
    clock.now += 9.9
    assert not ration.allows()
    clock.now += 0.2
    assert ration.allows()


def test_once_it_is_cheap_again_it_is_free_again() -> None:
    ration = Ration(Clock())
    ration.spent(2.0)
    ration.spent(0.001)
    assert ration.allows()
