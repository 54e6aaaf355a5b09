"""The jobs in this worker's hands, from the claim to the stored report."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.heartbeat import Held
from jobs_app.lifecycle.moves import Ended
from jobs_app.registry import JobType
from jobs_app.worker.context import JobContext

UNSTORED_SECONDS = 300.0  # how long a lease is kept for a report that cannot be stored

_ending = threading.Lock()


@dataclass(slots=True, eq=False)
class Flight:
    job: ClaimedJob
    job_type: JobType
    context: JobContext
    lease: float  # seconds
    claimed: float  # monotonic
    started: float | None = None  # monotonic
    ended_at: float | None = None  # monotonic

    @property
    def ended(self) -> bool:
        return self.ended_at is not None

    def end(self) -> bool:
        """True for the first to say so: a handler that returns just as the grace ends is reported once, not twice."""
        with _ending:
            is_first = self.ended_at is None
            if is_first:
                self.ended_at = time.monotonic()
        return is_first


class Report(NamedTuple):
    """How a flight ended, by this process's clock; the database's clock turns it into moments."""

    flight: Flight
    ended: Ended
    started: float | None
    finished: float
    stored: bool = False  # by the handler's own transaction


class Hangar:
    """Every flight by id. Filled by the claimer, emptied by the finisher; single dict operations need no lock."""

    def __init__(self) -> None:
        self._flights: dict[UUID, Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, flight: Flight) -> None:
        self._flights[flight.job.id] = flight

    def remove(self, flight: Flight) -> None:
        if self._flights.get(flight.job.id) is flight:
            del self._flights[flight.job.id]

    def all(self) -> list[Flight]:
        return list(self._flights.values())

    def open(self) -> list[Flight]:
        """Claimed and not ended: waiting for a thread, or running."""
        return [flight for flight in self.all() if not flight.ended]

    def running(self) -> list[Flight]:
        return [flight for flight in self.open() if flight.started is not None]

    def slow(self, seconds: float) -> int:
        """How many run for longer than this."""
        before = time.monotonic() - seconds
        return sum(1 for flight in self.all() if not flight.ended and (flight.started or math.inf) < before)

    def held(self) -> list[Held]:
        """What the heartbeat extends: also what ended and is not stored yet, or a slow moment of the database would
        run it again. Not for ever: a report that can never be stored must not hold its job."""
        before = time.monotonic() - UNSTORED_SECONDS
        return [
            Held(flight.job.id, flight.job.token, flight.lease)
            for flight in self.all()
            if flight.ended_at is None or flight.ended_at > before
        ]
