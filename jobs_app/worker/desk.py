"""Where jobs are handed out one at a time, to whoever asks: what a claimer is to its threads, without a loop."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import uuid4

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.lanes import Lanes, Start, find_lanes
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.registry import JobType, registry
from jobs_app.runtime.enabled import is_enabled
from jobs_app.worker.gatekeeper import Gatekeeper
from jobs_app.worker.ration import Ration
from jobs_app.worker.telling import tell

LOOK_EVERY_SECONDS = 1.0  # at rules, pauses and windows
MOST_PUT_BACK = 20  # jobs that a window defers, before whoever asks is answered that there is nothing for them


class Asker(NamedTuple):
    """Who wants a job, and for how long it is theirs."""

    worker_id: str
    lease: float  # seconds
    leases: Mapping[str, float] = {}  # for job types that want another one


class Desk:
    """For all who ask for the same queues and job types. They may ask from several threads, each with its connection:
    they look at gates one after the other, and claim side by side.

    It remembers where the last claim stopped in each lane, so that an old open transaction costs a pull no more than it
    does a worker. With `look_every` 0 it remembers nothing.
    """

    def __init__(
        self,
        *,
        serves: Callable[[str], bool],
        takes: Callable[[JobType], bool],
        look_every: float = LOOK_EVERY_SECONDS,
        ration: Ration | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gates = Gatekeeper(serves)
        self._takes = takes
        self._look_every = look_every
        self._patience = MOST_PUT_BACK if look_every else sys.maxsize
        self._clock = clock
        self._ration = ration or Ration(clock)
        self._lanes = Lanes(serves, clock)
        self._lock = threading.Lock()
        self._types: list[str] = []
        self._gates_at = float("-inf")
        self.empty_at = float("-inf")  # when the last look at everything began that found nothing
        self._freed: set[str] = set()

    def claim(self, connection: BaseDatabaseWrapper, asker: Asker) -> ClaimedJob | None:
        """The most urgent job that is due, now theirs; None if there is none for them, or none was seen and it is too
        early to look everywhere again: `empty_at` tells."""
        for _ in range(self._patience):
            self.look_at_gates(connection)
            job = self._claim_known(connection, asker) or self._claim_anew(connection, asker)
            if job is None or self.lets_run(connection, job, asker.worker_id):
                return job
        return None

    def look_at_gates(self, connection: BaseDatabaseWrapper, *, room: int = 1) -> list[str]:
        """Rules, pauses, windows; the job types that may start now, let in as far as keys, limits and rates allow."""
        with self._lock:
            if self._clock() - self._gates_at >= self._look_every:
                self._gates_at = self._clock()
                self.gates.refresh(connection)
                self._types = self._startable()
            while self._freed:
                self.gates.freed(self._freed.pop())
            self.gates.admit(connection, self._types, room)
            self._lanes.learn(self.gates.opened())
            return self._types

    def lets_run(self, connection: BaseDatabaseWrapper, job: ClaimedJob, worker_id: str) -> bool:
        """Now that it is claimed; else it waits again, at its gate or for the end of a maintenance window."""
        with self._lock:
            if not self.gates.keep_gates(connection, [job]):
                return False
        deferred = self.gates.calendar.met([job]).get(job.id)
        if deferred is not None and finish(connection, [deferred]):
            self.freed(job.queue)
            tell(job, deferred, worker_id)
        return deferred is None

    def freed(self, queue: str) -> None:
        """Something ended there: what waits for its key or its limit may be let in before the next look."""
        self._freed.add(queue)

    @property
    def pauses(self) -> Pauses:
        """As of the last look."""
        return self.gates.pauses

    def _startable(self) -> list[str]:
        paused = self.gates.pauses.job_types
        known = [each for each in registry if self._takes(each) and each.name not in paused]
        return [each.name for each in known if is_enabled(each)]

    def _claim_known(self, connection: BaseDatabaseWrapper, asker: Asker) -> ClaimedJob | None:
        """From the lanes that are known, from where the last claim stopped."""
        if not self._look_every:
            return None
        walk = self._lanes.is_walk_due() and self._ration.allows()
        return self._claim(connection, asker, self._lanes.starts(walk=walk))

    def _claim_anew(self, connection: BaseDatabaseWrapper, asker: Asker) -> ClaimedJob | None:
        """From all lanes that there are now, from their beginning: nothing due means nothing."""
        if self._look_every and not self._ration.allows():
            return None
        began = self._clock()
        self._lanes.learn(find_lanes(connection))
        job = self._claim(connection, asker, self._lanes.starts(walk=True))
        self._ration.spent(self._clock() - began)
        if job is None:
            self.empty_at = max(self.empty_at, began)
        return job

    def _claim(self, connection: BaseDatabaseWrapper, asker: Asker, starts: list[Start]) -> ClaimedJob | None:
        served = [start for start in starts if self.gates.serves(start.queue)]
        asked = Claim(
            worker_id=asker.worker_id,
            token=uuid4(),
            job_types=self._types,
            limit=1,
            lease=asker.lease,
            leases=asker.leases,
            paused_subjects=sorted(self.gates.pauses.subjects),
        )
        began = self._clock()
        job = next(iter(claim(connection, asked, served)), None)
        self._lanes.claimed(served, self._clock() - began)
        if job is None:
            self._lanes.exhausted(served)
        else:
            self._lanes.remember(job.queue, job.priority, job.run_at, job.id)
        return job
