"""Async handlers that are ended by force: at an abort, and at their deadline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker.executors import EventLoop
from tests.waiting import until
from tests.worker.flights import Ended, flight_of


@pytest.fixture
def ended() -> Ended:
    return Ended()


@pytest.fixture
def loop(ended: Ended) -> Iterator[EventLoop]:
    loop = EventLoop(2, ended)
    yield loop
    loop.stop()


def test_an_aborted_async_handler_is_cancelled_where_it_waits(ended: Ended, loop: EventLoop) -> None:
    cleaned: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append("up")

    flight, other = flight_of(job(name="forever")(forever)), flight_of(job(name="other")(forever))
    for each in (flight, other):
        loop.submit(each)
    until(lambda: other.started, every=0.01)
    loop.abort(flight)
    assert (ended.wait(1), cleaned, flight.cut, other.ended) == (["cancelled"], ["up"], "cancelled", False)
    loop.abort(flight)  # it is gone: nothing to do
    loop.abort(other)
    assert ended.wait(2) == ["cancelled"] * 2


def test_an_async_handler_is_cancelled_at_its_deadline(ended: Ended, loop: EventLoop) -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    flight = flight_of(job(name="forever")(forever))
    flight.timeout = 0.1
    loop.submit(flight)
    assert ended.wait(1) == ["failed"]
    [(_, report)] = ended
    assert report is not None
    assert (report.ended.outcome, report.ended.done_reason) == ("timeout", "timeout")
    assert re.fullmatch(r"timed out after \S+ s \(limit 0.1 s\)", report.ended.error)


@pytest.mark.spec("S3.6")
def test_an_async_handler_that_ignores_its_deadline_is_cancelled_again_after_each_grace(
    ended: Ended, loop: EventLoop, settings: Any
) -> None:
    settings.JOBS = {"TIMEOUT_GRACE_SECONDS": 0.1}
    ignored: list[int] = []

    async def stubborn() -> str:
        while len(ignored) < 3:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ignored.append(len(ignored))
        return "as if nothing was"

    flight = flight_of(job(name="stubborn")(stubborn))
    flight.timeout = 0.1
    loop.submit(flight)
    ended.wait(1)
    [(_, report)] = ended
    assert report is not None
    assert (report.ended.outcome, report.ended.result, ignored) == ("timeout", None, [0, 1, 2])


def test_an_async_handler_that_ended_in_time_leaves_no_alarm_behind(ended: Ended, loop: EventLoop) -> None:
    async def quick() -> None: ...

    flight = flight_of(job(name="quick")(quick))
    flight.timeout = 3600
    loop.submit(flight)
    assert ended.wait(1) == ["succeeded"]
    assert loop._running == {}
    assert all(handle.cancelled() for handle in loop._loop._scheduled)  # type: ignore[union-attr]
