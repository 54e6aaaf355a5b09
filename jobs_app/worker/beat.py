"""The heartbeat: leases, progress and presence, from a thread and a connection of its own."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from jobs_app.lifecycle.heartbeat import Asked, asked_to_stop, extend
from jobs_app.lifecycle.presence import Presence, announce, beat, is_asked_to_drain, leave
from jobs_app.logs import about, event
from jobs_app.registry import registry
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.memory import rss_bytes
from jobs_app.worker.flight import Flight, Hangar
from jobs_app.worker.progress import save_words

logger = logging.getLogger("jobs_app.worker")

TICK_SECONDS = 1.0  # progress is written at most this often
BEATS_PER_LEASE = 3
ASK_AFTER_SECONDS = 1.0  # what runs for so long may be asked to stop, and hears it at the next tick


class Beat(Loop):
    def __init__(
        self,
        hangar: Hangar,
        who: Presence,
        *,
        lease: Callable[[], float],
        is_draining: Callable[[], bool],
        drain: Callable[[], None],
        tick: Callable[[], None],
        abort: Callable[[Flight], None],
        announced: Callable[[], None],
    ) -> None:
        super().__init__("heartbeat")
        self._hangar = hangar
        self._who = who
        self._lease = lease
        self._leases: deque[float] = deque(maxlen=2)  # at the last beats
        self._is_draining = is_draining
        self._drain = drain
        self._tick = tick
        self._abort = abort
        self._announced = announced
        self.is_announced = False  # nothing is claimed before: whose worker is unknown looks lost to an operator
        self._beaten_at = float("-inf")
        self._has_left = False

    def is_done(self) -> bool:
        return self._has_left

    def run_once(self) -> None:
        if self.stopping:
            self._leave()
            return
        self._tick()
        self._hear_of_drain()
        began = time.monotonic()
        if began >= self._beaten_at + self._every():
            self._beat()
            self._beaten_at = began  # only now: a beat that failed is due at once
        else:
            self._ask()
        save_words(self.connection, self._hangar.open())
        self.pause(min(TICK_SECONDS, max(0.01, self._beaten_at + self._every() - time.monotonic())))

    def _every(self) -> float:
        """A third of the shortest lease that a job in hand may have. Where an operator lets leases be longer, those of
        before are kept for two beats more: a claim that was under way at the first is in hand at the second."""
        of_types = (job_type.lease for job_type in registry if job_type.lease)
        return min([self._lease(), *self._leases, *of_types]) / BEATS_PER_LEASE

    def _hear_of_drain(self) -> None:
        """At each tick: a lease may be an hour, and somebody waits for it."""
        if not self._is_draining() and is_asked_to_drain(self.connection, self._who.id):
            text = "asked to drain: no more jobs are taken, and what runs goes on to its end"
            logger.info(text, extra=event("drain_requested"))
            self._drain()
            self._beaten_at = float("-inf")  # and the next beat, which tells of it, is due

    def _leave(self) -> None:
        """The last thing a worker does: while it drains it beats until its last job is released."""
        leave(self.connection, self._who.id)
        self._has_left = True

    def _beat(self) -> None:
        lease = self._lease()
        self._hangar.let_last(lease)
        self._learn({flight.job.id: flight for flight in self._hangar.open()})
        draining = self._is_draining()
        busy = len(self._hangar.running())
        self._leases.append(lease)
        every, rss = self._every(), rss_bytes()
        if not beat(self.connection, self._who.id, busy=busy, draining=draining, rss_bytes=rss, beat_seconds=every):
            announce(self.connection, replace(self._who, beat_seconds=every))
        if not self.is_announced:
            self.is_announced = True
            self._announced()

    def _ask(self) -> None:
        """A lease may be minutes; nobody who asks a job to stop waits so long."""
        running = {flight.job.id: flight for flight in self._hangar.slow(ASK_AFTER_SECONDS)}
        for run_id, asked in asked_to_stop(self.connection, [flight.held for flight in running.values()]).items():
            self._tell(running[run_id], asked)

    def _tell(self, flight: Flight, asked: Asked) -> None:
        if asked.cancel or asked.abort:
            flight.context.cancelled = True
        if asked.abort and not flight.abort_sent:
            flight.abort_sent = True
            self._abort(flight)

    def _learn(self, flights: dict[UUID, Flight]) -> None:
        ours = extend(self.connection, self._hangar.held())
        for run_id, flight in flights.items():
            if run_id in ours:
                self._tell(flight, ours[run_id])
            elif not flight.ended and not flight.context.lease_lost:
                flight.context.lease_lost = True
                text = "job=%s lost its lease while it runs here; its report may be refused"
                logger.warning(text, run_id, extra=event("lease_lost", **about(flight.job)))
