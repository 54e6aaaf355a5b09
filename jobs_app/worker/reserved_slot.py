"""A slot for the app's own chores beside all others: one at a time, whatever else the process is busy with."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from uuid import uuid4

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.admit import Asking, admit
from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim
from jobs_app.lifecycle.finish import settled
from jobs_app.lifecycle.heartbeat import extend
from jobs_app.lifecycle.lanes import Start, find_lanes
from jobs_app.lifecycle.peek import is_due
from jobs_app.lifecycle.rules import Rules
from jobs_app.logs import about, event
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.runtime.enabled import is_enabled
from jobs_app.runtime.identity import Identity
from jobs_app.runtime.loops import Loop
from jobs_app.worker.beat import BEATS_PER_LEASE
from jobs_app.worker.flight import Flight, Report, board
from jobs_app.worker.inline import store
from jobs_app.worker.progress import save_words
from jobs_app.worker.runner import run
from jobs_app.worker.telling import say_refused, tell

logger = logging.getLogger("jobs_app.worker")

LOOK_EVERY_SECONDS = 60.0  # by itself; the claimer, which sees all queues, wakes it sooner
REST_SECONDS = 2.0  # at least, after a look that found nothing to take: what waits may be due later, or for others

MayTake = Callable[[BaseDatabaseWrapper], bool]


class ReservedSlot(Loop):
    """Takes chores, runs each in a thread of its own and keeps its lease. A stop asks a chore to come to its end."""

    def __init__(
        self,
        identity: Identity,
        *,
        lease: float | None = None,
        may_take: MayTake,
        look_every: float = LOOK_EVERY_SECONDS,
    ) -> None:
        super().__init__("chores")
        self._identity = identity
        self._own_lease = lease  # None: as the settings say
        self._may_take = may_take  # asked where something is due
        self._look_every = look_every
        self._flight: Flight | None = None
        self._ended = threading.Event()
        self._report: Report | None = None
        self._unsure = False  # the connection broke while the report was being stored

    def is_done(self) -> bool:
        return self.stopping and self._flight is None

    def stop(self) -> None:
        super().stop()
        if (flight := self._flight) is not None:
            flight.context.cancelled = True

    def run_once(self) -> None:
        if self._flight is None and not self._take():
            self.connection.close()  # most of the time it has no use for one
            self._ending.wait(min(REST_SECONDS, self._look_every))
            self.pause(self._look_every)
        elif self._flight is not None:
            self._see_through(self._flight)

    def work_off(self) -> None:
        """Everything that is due, on the thread of the caller."""
        while self._take():
            while self._flight is not None:
                self._see_through(self._flight)

    def _take(self) -> bool:
        """True if there is a chore in hand now."""
        if self.stopping or not is_due(self.connection, SYSTEM_QUEUE) or not self._may_take(self.connection):
            return False
        lease = get_settings().lease_seconds if self._own_lease is None else self._own_lease
        for job in self._claim(lease):
            self._start(board(job, worker=self._identity.short, worker_id=self._identity.id, lease=lease))
        return self._flight is not None

    def _claim(self, lease: float) -> list[ClaimedJob]:
        types = [job_type.name for job_type in registry if job_type.queue == SYSTEM_QUEUE and is_enabled(job_type)]
        admit(self.connection, SYSTEM_QUEUE, Asking(job_types=types, rules=Rules(), room=1))
        lanes = [Start(*lane) for lane in find_lanes(self.connection) if lane[0] == SYSTEM_QUEUE]
        asked = Claim(worker_id=self._identity.id, token=uuid4(), job_types=types, limit=1, lease=lease, leases={})
        return claim(self.connection, asked, sorted(lanes, key=lambda lane: -lane.priority))

    def _start(self, flight: Flight) -> None:
        self._ended.clear()
        self._flight, self._report = flight, None
        threading.Thread(target=self._run, args=[flight], name="jobs-chore", daemon=True).start()
        if self.stopping:  # it came while this claim was under way
            flight.context.cancelled = True

    def _run(self, flight: Flight) -> None:
        try:
            self._report = run(flight)
        finally:
            connections.close_all()
            self._ended.set()

    def _see_through(self, flight: Flight) -> None:
        """To its end, and until that is stored, whatever happens to the connection meanwhile."""
        while not self._ended.wait(flight.lease / BEATS_PER_LEASE):
            self._keep(flight)
        if self._report is not None:
            self._store(self._report)
        self._flight = None

    def _keep(self, flight: Flight) -> None:
        asked = extend(self.connection, [flight.held]).get(flight.job.id)
        if asked is None and not flight.context.lease_lost:
            flight.context.lease_lost = True
            text = "job=%s lost its lease while it runs here; its report may be refused"
            logger.warning(text, flight.job.id, extra=event("lease_lost", **about(flight.job)))
        if asked is None or asked.cancel or asked.abort:
            flight.context.cancelled = True
        save_words(self.connection, [flight])

    def _store(self, report: Report) -> None:
        report.ended.finished_ago = time.monotonic() - report.finished
        unsure, self._unsure = self._unsure, True
        is_stored = store(self.connection, report) or (unsure and bool(settled(self.connection, [report.ended])))
        self._unsure = False
        if is_stored:
            tell(report.flight.job, report.ended, report.flight.context.worker_id)
        else:
            say_refused(report.flight.job, report.ended)
