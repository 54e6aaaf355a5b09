"""Who runs what was claimed: a thread, the event loop or a process, and nothing waits long behind something slow."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from jobs_app.logs import event
from jobs_app.worker.executors import Chunk, Done, EventLoop, Threads
from jobs_app.worker.flight import Flight
from jobs_app.worker.isolation.seats import Seats
from jobs_app.worker.pace import Pace

logger = logging.getLogger("jobs_app.worker")


class Crew:
    def __init__(self, size: int, pace: Pace, done: Done) -> None:
        self.size = size
        self._pace = pace
        self._threads = Threads(size, done)
        self._event_loop = EventLoop(size, done)
        self._seats = Seats(size, done)

    def warm(self) -> None:
        """Have a process ready for the first job that wants one."""
        self._seats.warm()

    def is_loop_blocked(self) -> bool:
        return self._event_loop.is_blocked

    def launch(self, flights: Sequence[Flight]) -> None:
        """Each into its own slot; short ones in chunks."""
        short: dict[str, list[Flight]] = {}
        for flight in flights:
            if flight.job_type.isolation == "process":
                self._seats.submit(Chunk([flight]))
            elif flight.job_type.is_async:
                self._event_loop.submit(flight)
            elif self._pace.is_short(flight.job.job_type):
                short.setdefault(flight.job.job_type, []).append(flight)
            else:
                self._threads.submit(Chunk([flight]))
        for job_type, together in short.items():
            size = self._pace.chunk(job_type, len(together), self.size)
            is_tiny = self._pace.is_tiny(job_type)
            for start in range(0, len(together), size):
                self._threads.submit(Chunk(together[start : start + size], is_tiny=is_tiny))

    def hurry(self, idle_seconds: float, *, running: int) -> list[Flight]:
        """Move what waits since so long to free threads; what finds none is given back by the caller.

        What waits for the event loop waits for a handler that blocks it, and no thread could run it.
        """
        waiting = self._threads.take_back(idle_seconds)
        free = max(0, self.size - running)
        for flight in waiting[:free]:
            self._threads.submit(Chunk([flight]))
        blocked = self._event_loop.take_back(idle_seconds)
        if blocked:
            facts = event("event_loop_blocked", count=len(blocked))
            logger.warning("an async job blocks the event loop; %s that wait for it go back", len(blocked), extra=facts)
        self._seats.tend()
        return waiting[free:] + blocked + self._seats.take_back(idle_seconds)

    def abort(self, flight: Flight) -> None:
        """By force, where there is one: a thread goes on until its handler asks whether it should stop."""
        if flight.job_type.isolation == "process":
            self._seats.abort(flight)
        elif flight.job_type.is_async:
            self._event_loop.abort(flight)

    def abandon(self, flight: Flight) -> None:
        """The worker gives this job up and says so itself. When this returns, a process that ran it is gone."""
        self._seats.abandon(flight)

    def take_back(self) -> list[Flight]:
        """Everything that has not started."""
        return self._threads.take_back(0.0) + self._event_loop.take_back(0.0) + self._seats.take_back(0.0)

    def stop(self) -> None:
        self._threads.stop()
        self._event_loop.stop()
        self._seats.stop()
