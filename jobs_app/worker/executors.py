"""Where handlers run: threads for sync ones, one event loop for async ones."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from asgiref.sync import SyncToAsync
from django.db import close_old_connections, connections, reset_queries

from jobs_app.computing import running_handlers
from jobs_app.conf import get_settings
from jobs_app.logs import event
from jobs_app.worker.flight import Cut, Flight, Report
from jobs_app.worker.runner import run, run_async
from jobs_app.worker.tidying import has_connections, is_copy, tidy

logger = logging.getLogger("jobs_app.worker")

TIDY_SECONDS = 1.0  # the thread that async handlers share for their queries is looked after this often
SHORTEST_GRACE_SECONDS = 0.1  # between two cancels of a handler that goes on
TURN_SECONDS = 0.001  # for tiny jobs, then whoever else computes has its turn
BLOCKED_SECONDS = 0.5  # an event loop that does not answer for so long gets no more work

Done = Callable[[Flight, Report | None], None]


class Chunk:
    """Short jobs that one thread takes together: a hand-over costs more than the job. What waits long is taken back."""

    __slots__ = ("flights", "is_tiny", "touched")

    def __init__(self, flights: Iterable[Flight], *, is_tiny: bool = False) -> None:
        self.flights = deque(flights)
        self.touched = time.monotonic()
        self.is_tiny = is_tiny  # these compute, and take turns with who else does


class Threads:
    """At most `size` threads, started when they are needed."""

    def __init__(self, size: int, done: Done) -> None:
        self.size = size
        self._done = done
        self._queue: SimpleQueue[Chunk | None] = SimpleQueue()
        self._chunks: set[Chunk] = set()
        self._threads: list[threading.Thread] = []
        self._growing = threading.Lock()

    def submit(self, chunk: Chunk) -> None:
        self._chunks.add(chunk)
        with self._growing:  # both the claimer and the heartbeat come here
            if len(self._threads) < min(self.size, len(self._chunks)):
                self._grow()
        self._queue.put(chunk)

    def take_back(self, idle_seconds: float) -> list[Flight]:
        """Jobs that wait behind a slow one, or for a thread, since so long."""
        before = time.monotonic() - idle_seconds
        taken: list[Flight] = []
        for chunk in list(self._chunks):
            while chunk.touched <= before and (flight := _first(chunk.flights)):
                taken.append(flight)
        return taken

    def stop(self) -> None:
        for _ in self._threads:
            self._queue.put(None)

    def _grow(self) -> None:
        thread = threading.Thread(target=self._work, name=f"jobs-{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the chunk waits for a thread that is there, or is taken back
            logger.error("no thread for another job: %s", error, extra=event("thread_not_started", error=error))
        else:
            self._threads.append(thread)

    def _work(self) -> None:
        try:
            while (chunk := self._take()) is not None:
                while chunk.flights:
                    with running_handlers() if chunk.is_tiny else nullcontext():
                        self._run_some(chunk)
                self._chunks.discard(chunk)
        finally:
            connections.close_all()

    def _take(self) -> Chunk | None:
        try:
            return self._queue.get_nowait()
        except Empty:
            if has_connections():
                tidy()  # before the wait, what need not be open; after it, what went stale
            chunk = self._queue.get()
            if has_connections():
                tidy()
            return chunk

    def _run_some(self, chunk: Chunk) -> None:
        give_way = time.monotonic() + TURN_SECONDS
        while chunk.touched < give_way and (flight := self._next(chunk)):
            self._run(flight)

    def _run(self, flight: Flight) -> None:
        report = run(flight)
        if is_copy():
            os._exit(0)  # a copy of the worker that the handler forked and forgot to end
        if has_connections():  # most handlers that take microseconds have none, and looking for them costs as much
            reset_queries()
            tidy(next_waits=True)
        self._done(flight, report)

    @staticmethod
    def _next(chunk: Chunk) -> Flight | None:
        chunk.touched = time.monotonic()
        return _first(chunk.flights)


@dataclass(slots=True)
class Running:
    task: asyncio.Task[Any] | None
    alarm: asyncio.TimerHandle | None = None  # when it is cut

    def disarm(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()


class EventLoop:
    """At most `size` async handlers at once, in one loop in a thread of its own."""

    def __init__(self, size: int, done: Done) -> None:
        self.size = size
        self._done = done
        self._waiting: deque[Flight] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Flight, Running] = {}
        self._begun = 0  # of them
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: float | None = None  # when the loop was first asked to start something, and has not since
        self._tidied = 0.0

    @property
    def is_blocked(self) -> bool:
        """Some handler computes, or waits without `await`, and nobody else gets a turn."""
        asked = self._asked
        return asked is not None and time.monotonic() - asked > BLOCKED_SECONDS

    def submit(self, flight: Flight) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="jobs-async", daemon=True).start()
        self._waiting.append(flight)
        self._asked = self._asked or time.monotonic()
        self._loop.call_soon_threadsafe(self._start_more)

    def take_back(self, idle_seconds: float) -> list[Flight]:
        before = time.monotonic() - idle_seconds
        taken: list[Flight] = []
        for flight in list(self._waiting):
            if flight.claimed <= before:
                try:
                    self._waiting.remove(flight)
                except ValueError:  # started meanwhile
                    continue
                taken.append(flight)
        return taken

    def abort(self, flight: Flight) -> None:
        """Cancel the handler's task. One that has not begun is told when it would."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cut, flight, "cancelled")

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _start_more(self) -> None:
        free = min(self.size - len(self._tasks), len(self._waiting))
        self._asked = (self._asked or time.monotonic()) if free > 0 else None
        for _ in range(free):
            task = asyncio.ensure_future(self._run_first())
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._start_more()
        if not self._tasks:
            SyncToAsync.single_thread_executor.submit(connections.close_all)  # one less, while nobody needs it

    async def _run_first(self) -> None:
        """Taken when the task begins and not when it is made: until then it may be taken back."""
        self._begun += 1
        self._asked = time.monotonic() if len(self._tasks) > self._begun else None
        try:
            if flight := _first(self._waiting):
                await self._run(flight)
        finally:
            self._begun -= 1

    async def _run(self, flight: Flight) -> None:
        if time.monotonic() - self._tidied > TIDY_SECONDS:
            self._tidy()
        self._running[flight] = Running(asyncio.current_task())
        if flight.timeout is not None:
            self._set_alarm(flight, flight.timeout, "timeout")
        report = await run_async(flight)
        self._running.pop(flight).disarm()
        self._done(flight, report)

    def _cut(self, flight: Flight, how: Cut) -> None:
        """Again after each grace: a handler may take its time to clean up, but not go on as if nothing was."""
        if (running := self._running.get(flight)) is not None and running.task is not None:
            flight.cut = flight.cut or how
            running.task.cancel(f"the job was cut: {flight.cut}")
            self._set_alarm(flight, max(get_settings().timeout_grace_seconds, SHORTEST_GRACE_SECONDS), how)

    def _set_alarm(self, flight: Flight, seconds: float, how: Cut) -> None:
        running = self._running[flight]
        running.disarm()
        running.alarm = asyncio.get_running_loop().call_later(seconds, self._cut, flight, how)

    def _tidy(self) -> None:
        """In the one thread where asgiref runs the queries of async code; in front of those of the next handler."""
        self._tidied = time.monotonic()
        SyncToAsync.single_thread_executor.submit(close_old_connections)


def _first(flights: deque[Flight]) -> Flight | None:
    """Several threads take from these, so asking first whether there is one would not help."""
    try:
        return flights.popleft()
    except IndexError:
        return None
