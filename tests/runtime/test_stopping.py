"""Signals: the first asks, a quick second is the same, a later one forces."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from jobs_app.runtime.stopping import Asked, StopSignals


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    stop = StopSignals()
    stop.install()
    yield stop
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("second", "forced"), [(0.0, False), (2.0, False), (2.1, True)])
def test_only_a_later_second_signal_forces(second: float, forced: bool) -> None:
    moments = iter([100.0, 100.0 + second])
    stop = StopSignals(clock=lambda: next(moments))
    stop.receive(signal.SIGTERM)
    assert (stop.received.is_set(), stop.forced) == (True, False)
    stop.receive(signal.SIGINT)
    assert stop.forced is forced


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_of_the_main_thread(signals: StopSignals, number: signal.Signals) -> None:
    assert not signals.received.is_set()
    threading.Thread(target=os.kill, args=(os.getpid(), number)).start()
    assert signals.received.wait(30)
    assert signals.received.wait(30), "it stays set"


def test_a_wait_for_nothing_ends_in_time() -> None:
    assert Asked().wait(0.001) is False
