"""The jobs in this worker's hands, from the claim to the stored report."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from jobs_app.conf import get_settings
from jobs_app.errors import Fail
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.heartbeat import Held
from jobs_app.lifecycle.moves import Ended
from jobs_app.registry import JobType, registry
from jobs_app.text import clean
from jobs_app.timeouts import timeout_for
from jobs_app.worker.context import JobContext

Cut: TypeAlias = Literal["cancelled", "timeout"]

UNSTORED_SECONDS = 300.0  # how long a lease is kept for a report that cannot be stored


class Flight:
    # What most flights leave as it is: set once here, and not for each.
    started: float | None = None  # monotonic
    ended_at: float | None = None  # monotonic
    timeout: float | None = None  # seconds
    unfit: Exception | None = None  # why it cannot run
    cut: Cut | None = None  # stopped by force: whatever it returns or raises, this is how it ends
    abort_sent = False
    is_overdue_told = False
    is_noted = False  # how long it took is known already
    is_counted = False  # among those that began
    on_error: Callable[[BaseException], object] | None = None  # hears what the handler raised

    def __init__(self, job: ClaimedJob, job_type: JobType, context: JobContext, lease: float, claimed: float) -> None:
        self.job = job
        self.job_type = job_type
        self.context = context
        self.lease = lease  # seconds
        self.claimed = claimed  # monotonic

    @property
    def deadline(self) -> float | None:
        """Monotonic; None until it starts, and without a timeout."""
        return None if self.timeout is None or self.started is None else self.started + self.timeout

    def is_past_deadline(self, grace: float = 0.0) -> bool:
        deadline = self.deadline
        return deadline is not None and time.monotonic() >= deadline + grace

    @property
    def ended(self) -> bool:
        return self.ended_at is not None

    @property
    def held(self) -> Held:
        return Held(self.job.id, self.job.token, self.lease)

    def end(self) -> bool:
        """True for the first to say so: a handler that returns just as the grace ends is reported once, not twice.

        `setdefault` of a dict is one step for all threads, and takes a third of the time of a lock.
        """
        now = time.monotonic()
        return self.__dict__.setdefault("ended_at", now) is now


def board(job: ClaimedJob, *, worker: str, worker_id: str, lease: float) -> Flight:
    """A claimed job on its way to its handler, with all that its type says about it."""
    job_type = registry.get(job.job_type)
    context = JobContext(job, worker, worker_id)
    flight = Flight(job, job_type, context, job_type.lease or lease, time.monotonic())
    if job_type.may_time_out or job.timeout_seconds is not None:
        _set_timeout(flight)
    return flight


def _set_timeout(flight: Flight) -> None:
    job = flight.job
    try:
        read_payload = partial(json.loads, job.payload)
        flight.timeout = timeout_for(flight.job_type, read_payload, job.timeout_seconds, get_settings())
    except Exception as error:  # of the host's own callable: this job cannot run, the others can
        flight.unfit = Fail(f"the timeout of {job.job_type} cannot be told: {type(error).__name__}: {clean(error)}")


class Report(NamedTuple):
    """How a flight ended, by this process's clock; the database's clock turns it into moments."""

    flight: Flight
    ended: Ended
    started: float | None
    finished: float
    stored: bool = False  # by the handler's own transaction


class Hangar:
    """Every flight. Filled by claimer and finisher, emptied by the finisher; single operations on a dict need no lock.

    A job that was lost and is claimed again by this very worker has two flights here, the later one behind the other.
    """

    def __init__(self) -> None:
        self._flights: dict[Flight, None] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, flights: Iterable[Flight]) -> None:
        self._flights.update(dict.fromkeys(flights))

    def remove(self, flights: Iterable[Flight]) -> None:
        for flight in flights:
            self._flights.pop(flight, None)

    def all(self) -> list[Flight]:
        return list(self._flights)

    def open(self) -> list[Flight]:
        """Claimed and not ended: waiting for a thread, or running."""
        return [flight for flight in self.all() if not flight.ended]

    def running(self) -> list[Flight]:
        return [flight for flight in self.open() if flight.started is not None]

    def slow(self, seconds: float) -> list[Flight]:
        """Those that run for longer than this."""
        before = time.monotonic() - seconds
        return [flight for flight in self.all() if not flight.ended and (flight.started or math.inf) < before]

    def count_running(self, seconds: float) -> tuple[int, int]:
        """Of those that run: how many, and how many of them for longer than this."""
        before = time.monotonic() - seconds
        begun = [flight.started for flight in self.running() if flight.started is not None]
        return len(begun), sum(started < before for started in begun)

    def let_last(self, lease: float) -> None:
        """From the next beat on all have this lease, but for those whose type has its own."""
        for flight in self.all():
            flight.lease = flight.job_type.lease or lease

    def held(self) -> list[Held]:
        """What the heartbeat extends: also what ended and is not stored yet, or a slow moment of the database would
        run it again. Not for ever: a report that can never be stored must not hold its job."""
        before = time.monotonic() - UNSTORED_SECONDS
        return [flight.held for flight in self.all() if flight.ended_at is None or flight.ended_at > before]
