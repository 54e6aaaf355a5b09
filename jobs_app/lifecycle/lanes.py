"""Where claims read: a lane is (queue, priority), from a remembered start to now.

An old open transaction keeps every index entry of a finished job alive. Claims that start from the beginning of the
index walk over all of them, each time: measured, a drain falls from 21,000 to 3,200 jobs/s after 140,000 jobs.
Claims that start where the last one stopped do not fall at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import NamedTuple, TypeAlias
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import run_pinned
from jobs_app.lifecycle.database import is_postgres, now_parameter
from jobs_app.lifecycle.loose_scans import each_lane

Kind: TypeAlias = Hashable  # of a claim: what it takes of a lane
ANY: Kind = "any"
AHEAD: Kind = "ahead"
BEGINNING = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))
LOOK_BACK = timedelta(seconds=60)  # for inserts that committed after later ones were claimed
LOOK_BACK_EVERY_SECONDS = 1.0
FORGET_AFTER_SECONDS = 60.0
WALK_SHARE = 0.05  # a walk from the beginning may take this share of the time since the last one
WALK_AT_LEAST_EVERY_SECONDS = 10.0


class Start(NamedTuple):
    """A lane and the first place in it that a claim looks at."""

    queue: str
    priority: int
    run_at: datetime = BEGINNING[0]
    id: UUID = BEGINNING[1]


POSTGRES = each_lane("queue", "state = 'queued' AND hold = ''")
# SQLite skips through the index by itself and has no dead rows, so it may as well leave out lanes with nothing due.
SQLITE = """
SELECT queue, priority FROM jobs_app_job
 WHERE state = 'queued' AND hold = '' AND run_at <= %(now)s GROUP BY queue, priority
"""


def find_lanes(connection: BaseDatabaseWrapper) -> list[tuple[str, int]]:
    """Every (queue, priority) with a queued job."""
    if is_postgres(connection):
        return run_pinned(connection, POSTGRES, {})
    with connection.cursor() as cursor:
        cursor.execute(SQLITE, {"now": now_parameter(connection)})
        return cursor.fetchall()


@dataclass
class Lane:
    queue: str
    priority: int
    seen: float  # when it last had a job, by the monotonic clock
    # Where the last claim stopped. Claims ahead, and claims of some job types only, run far past the other jobs, which
    # an ordinary claim must still find: each kind has its own mark.
    marks: dict[Kind, tuple[datetime, UUID]] = field(default_factory=dict)
    walked: set[Kind] = field(default_factory=set)  # by which kinds it was read from the beginning


@dataclass
class Lanes:
    """What one claimer knows: its lanes, where it stopped in each, and when it last looked further back.

    The listener teaches new lanes from its own thread.
    """

    serves: Callable[[str], bool]  # does this worker serve the queue?
    clock: Callable[[], float]
    known: dict[tuple[str, int], Lane] = field(default_factory=dict)
    turn: int = 0
    walked_at: float = float("-inf")
    walk_cost: float = 0.0
    looked_back_at: dict[Kind, float] = field(default_factory=dict)
    look_back_cost: dict[Kind, float] = field(default_factory=dict)
    is_looking_back: bool = False  # what was last asked for begins before its mark
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, found: Iterable[tuple[str, int]]) -> None:
        now = self.clock()
        with self._lock:
            for queue, priority in found:
                if self.serves(queue):
                    self.known.setdefault((queue, priority), Lane(queue, priority, now)).seen = now
            for name in [name for name, lane in self.known.items() if now - lane.seen > FORGET_AFTER_SECONDS]:
                del self.known[name]

    def may_walk(self) -> bool:
        """A walk from the beginning is cheap unless an old transaction is open; then it is rationed."""
        return self.clock() - self.walked_at >= self.walk_cost / WALK_SHARE

    def is_walk_due(self) -> bool:
        """Also on a lane that never comes back short: something may have committed more than a minute late."""
        return self.clock() - self.walked_at >= WALK_AT_LEAST_EVERY_SECONDS

    def walked(self, seconds: float) -> None:
        others = 0.0 if self.may_walk() else self.walk_cost  # of the same round, for other job types
        self.walked_at, self.walk_cost = self.clock(), others + seconds

    def starts(self, *, walk: bool, kind: Kind = ANY) -> list[Start]:
        """Most urgent first; queues of one priority take turns at being first."""
        back = self.is_looking_back = self._look_back(kind)
        with self._lock:
            lanes = sorted(self.known.values(), key=lambda lane: (-lane.priority, lane.queue))
        self.turn += 1
        in_turn: list[Lane] = []
        for _, peers in groupby(lanes, key=lambda lane: lane.priority):
            in_turn += _rotated(list(peers), self.turn)
        starts = [(lane, self._start(lane, walk, back, kind)) for lane in in_turn]
        return [Start(lane.queue, lane.priority, *start) for lane, start in starts if start is not None]

    def remember(self, queue: str, priority: int, run_at: datetime, job_id: UUID, *, kind: Kind = ANY) -> None:
        lane = self.known.get((queue, priority))
        if lane is not None:  # else forgotten since the claim; it will be learnt anew
            lane.marks[kind] = max(lane.marks.get(kind, BEGINNING), (run_at, job_id))
            lane.seen = self.clock()

    def exhausted(self, starts: Iterable[Start], *, kind: Kind = ANY) -> None:
        """A claim from these came back short: what is left in them is not for this worker."""
        for start in starts:
            lane = self.known.get((start.queue, start.priority))
            if lane is not None:
                lane.walked.add(kind)

    def claimed(self, starts: Iterable[Start], seconds: float, *, kind: Kind = ANY) -> None:
        """What a claim from these cost, if it looked further than it must: a backlog of a subject that was paused just
        now is read over each time, until it is parked."""
        places = [(start.run_at, start.id) for start in starts]
        is_walk = bool(places) and all(place == BEGINNING for place in places)  # nothing asked for is nothing read
        if is_walk:
            self.walked(seconds)
        if is_walk or self.is_looking_back:  # the one reads what the other does
            self.look_back_cost[kind] = seconds

    def _look_back(self, kind: Kind) -> bool:
        """The first claim ahead need not: those of any type have just done so."""
        cost = self.look_back_cost.setdefault(kind, self.look_back_cost.get(_wider(kind), 0.0))
        last = self.looked_back_at.setdefault(kind, self.looked_back_at.get(_wider(kind), float("-inf")))
        if self.clock() - last < max(LOOK_BACK_EVERY_SECONDS, cost / WALK_SHARE):
            return False
        self.looked_back_at[kind] = self.clock()
        return True

    @staticmethod
    def _start(lane: Lane, walk: bool, back: bool, kind: Kind) -> tuple[datetime, UUID] | None:
        mark = max((lane.marks[each] for each in (kind, _wider(kind)) if each in lane.marks), default=None)
        if mark is None and not walk and kind in lane.walked:
            return None  # a backlog of types that this worker does not run is left to the walks, which are rationed
        if walk or mark is None:
            return BEGINNING
        if back:
            return mark[0] - LOOK_BACK, BEGINNING[1]
        return mark


def _wider(kind: Kind) -> Kind:
    """The kind of claims that leaves nothing behind for this one. Without it the first claim ahead would walk over all
    dead rows once more: 0.3 s for two million of them."""
    return ANY if kind == AHEAD else kind


def _rotated(lanes: list[Lane], turn: int) -> list[Lane]:
    first = turn % len(lanes)
    return lanes[first:] + lanes[:first]
