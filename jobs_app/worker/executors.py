"""Where handlers run: threads for sync ones, one event loop for async ones."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections, reset_queries

from jobs_app.worker.flight import Flight, Report
from jobs_app.worker.runner import run, run_async

STALE_CONNECTION_SECONDS = 1.0  # an async handler's ORM thread is looked after at most this often


class Chunk:
    """Short jobs that one thread takes together: a hand-over costs more than the job. What waits too long is taken back."""

    __slots__ = ("flights", "touched")

    def __init__(self, flights: Iterable[Flight]) -> None:
        self.flights = deque(flights)
        self.touched = time.monotonic()


class Threads:
    """At most `size` threads, started when they are needed."""

    def __init__(self, size: int, done: Callable[[Flight, Report | None], None]) -> None:
        self.size = size
        self._done = done
        self._queue: SimpleQueue[Chunk | None] = SimpleQueue()
        self._chunks: set[Chunk] = set()
        self._threads: list[threading.Thread] = []

    def submit(self, chunk: Chunk) -> None:
        self._chunks.add(chunk)
        if len(self._threads) < min(self.size, len(self._chunks)):
            thread = threading.Thread(target=self._work, name=f"jobs-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._queue.put(chunk)

    def take_back(self, idle_seconds: float) -> list[Flight]:
        """Jobs that wait behind a slow one, or for a thread, since so long."""
        before = time.monotonic() - idle_seconds
        taken: list[Flight] = []
        for chunk in list(self._chunks):
            while chunk.touched <= before and chunk.flights:
                taken.append(chunk.flights.pop())
        return taken

    def stop(self) -> None:
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        try:
            while (chunk := self._queue.get()) is not None:
                while flight := self._next(chunk):
                    close_old_connections()
                    report = run(flight)
                    reset_queries()
                    close_old_connections()
                    self._done(flight, report)
                self._chunks.discard(chunk)
        finally:
            connections.close_all()

    @staticmethod
    def _next(chunk: Chunk) -> Flight | None:
        try:
            flight = chunk.flights.popleft()
        except IndexError:
            return None
        chunk.touched = time.monotonic()
        return flight


class EventLoop:
    """At most `size` async handlers at once, in one loop in a thread of its own."""

    def __init__(self, size: int, done: Callable[[Flight, Report | None], None]) -> None:
        self.size = size
        self._done = done
        self._waiting: deque[Flight] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cleaned = 0.0

    def submit(self, flight: Flight) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="jobs-async", daemon=True).start()
        self._waiting.append(flight)
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

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _start_more(self) -> None:
        while self._waiting and len(self._tasks) < self.size:
            task = asyncio.ensure_future(self._run(self._waiting.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._start_more()

    async def _run(self, flight: Flight) -> None:
        if time.monotonic() - self._cleaned > STALE_CONNECTION_SECONDS:
            self._cleaned = time.monotonic()
            await sync_to_async(close_old_connections)()
        self._done(flight, await run_async(flight))
