"""The loop that claims: as much as can start now, and short jobs a little ahead."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import uniform
from typing import NamedTuple
from uuid import uuid4

from jobs_app.computing import computing
from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim, make_durable
from jobs_app.lifecycle.hand_over import Straight
from jobs_app.lifecycle.lanes import AHEAD, Lanes, find_lanes
from jobs_app.lifecycle.wakeup import QUIET_SECONDS
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.recovery import recover_silent
from jobs_app.serving import Serving
from jobs_app.worker.deferring import Calendar
from jobs_app.worker.gatekeeper import Gatekeeper
from jobs_app.worker.options import WorkerOptions
from jobs_app.worker.pace import Pace
from jobs_app.worker.portions import Left, Portion, Room, left_in_process, split
from jobs_app.worker.ration import SHARE

LANES_EVERY_SECONDS = 1.0
GATES_EVERY_SECONDS = 1.0
ANY_TYPE_EVERY_SECONDS = 0.1  # while short jobs come in full batches, others are asked for this often
SHORTEST_POLL_SECONDS = 0.01
# Where work begins the threads have none: a small claim is there sooner, and the next comes while they do its jobs.
FIRST_REACH = 100
REACH_GROWTH = 4
MOST_UNSTORED = 4000  # reports: what ran and what is recorded never drift further apart


class Took(NamedTuple):
    jobs: int
    walked: bool  # from the beginning of the lanes


class Claimer(Loop):
    def __init__(
        self,
        *,
        worker_id: str,
        serving: Serving,
        options: WorkerOptions,
        pace: Pace,
        types: Callable[[], list[str]],
        room: Callable[[], Room],
        in_hand: Callable[[], Iterable[ClaimedJob]],
        launch: Callable[[Sequence[ClaimedJob]], None],
        call_janitor: Callable[[], object],
        call_chores: Callable[[], object],
    ) -> None:
        super().__init__("claimer")
        self._worker_id = worker_id
        self._options = options
        self._hears = options.listen  # of what is enqueued
        self._patience = options.poll_seconds
        self._thorough = options.once  # nothing due means: in no lane, as of now
        self._pace = pace
        self._types = types
        self._room = room
        self._in_hand = in_hand
        self._launch = launch
        self._call_janitor = call_janitor
        self._call_chores = call_chores  # told of them: they are for a slot of their own
        self._gates = Gatekeeper(serving)
        self._lanes = Lanes(serving, time.monotonic)
        self._heard: deque[tuple[str, int]] = deque()
        self._freed: deque[str] = deque()
        self._lanes_at = float("-inf")  # when they were last looked for, and how long that took
        self._lanes_cost = 0.0
        self._lanes_wanted = True
        self._recover_due = 0.0
        self._gates_due = 0.0
        self._any_due = 0.0
        self._follow_up = False
        self._may_open_more = False  # admission was not done with what is due
        self._reach = FIRST_REACH  # at most so many are claimed ahead
        self.starved = False  # waits for a free thread, not for work
        self.is_sated = False  # the last claim left nothing behind that could be taken ahead
        self.empty_at = float("-inf")  # when the lanes were looked for in which nothing was due

    @property
    def straight(self) -> Straight:
        """Who may be given its key by the one that has it, without another look; asked by the finisher's thread.

        And who may be claimed with it: what is short, while nothing else that is short waits for this worker. That
        might be more urgent, and only a claim compares the two.
        """
        straight = self._gates.straight
        are_rules_fresh = time.monotonic() < self._gates_due + GATES_EVERY_SECONDS
        if self.is_sated and straight.kinds and are_rules_fresh and not self.stopping:
            room = self._room()
            straight.starting = self._gates.starting(self._pace.is_short)
            straight.claim = self._asked(straight.starting, room.now + room.ahead)
        return straight

    @property
    def calendar(self) -> Calendar:
        """The maintenance windows as of the last look; asked by whoever launches what was claimed."""
        return self._gates.calendar

    def told(self, lane: tuple[str, int] | None) -> None:
        """Somebody enqueued into this lane, or nobody knows where, says the listener from its own thread."""
        if lane is None:
            self._lanes_wanted = True
        else:
            self._heard.append(lane)
        self.is_sated = False
        self._follow_up = True
        self.wake.set()

    def freed(self, queues: Iterable[str], lanes: Iterable[tuple[str, int]] = ()) -> None:
        """Jobs of these queues ended that had passed a gate, or opened the next ones in these lanes, says the finisher
        from its own thread."""
        self._lanes.learn(lanes)
        self._freed.extend(queues)
        self.wake.set()

    def run_once(self) -> None:
        self._maintain()
        self.starved = True  # before the count: whoever frees a thread after it wakes us
        room = self._room()
        self.starved = room.now <= 0
        types = [name for name in self._types() if name not in self._gates.pauses.job_types]
        left = self._left(types)
        self._may_open_more = self._gates.admit(self.connection, types, room.now, left)
        self._lanes.learn(self._gates.opened())
        if not self._claim(types, room, unlimited=split(types, left)[0]):
            self._lanes_wanted |= self._thorough
            self._follow_up |= self._may_open_more
            self._rest()

    def _rest(self) -> None:
        # A burst sends one NOTIFY in 5 ms, so the one that woke us may have been before the last commit.
        follow_up, self._follow_up = self._follow_up, False
        wait = QUIET_SECONDS if follow_up else self._next_poll()
        # The poll may be a minute; a silent worker's jobs do not wait so long, nor does a lane that is wanted.
        due = min(self._recover_due, self._lanes_due() if self._lanes_wanted else math.inf, self._gates.next_look())
        self.pause(max(0.0, min(wait, due - time.monotonic())))

    def _next_poll(self) -> float:
        """Who hears nothing looks often after it found something, and ever less often while it does not."""
        if self._hears:
            return self._options.poll_seconds
        self._patience = min(self._options.poll_seconds, self._patience * 2)
        return self._patience

    def _claim(self, types: list[str], room: Room, unlimited: Portion) -> bool:
        """True if there may be more."""
        short = self._pace.short_types(unlimited.job_types) if room.ahead > 0 else []
        ahead = unlimited._replace(kind=AHEAD, job_types=short)
        if short and room.now <= 0 < room.beside and time.monotonic() >= self._any_due:
            self._any_due = time.monotonic() + ANY_TYPE_EVERY_SECONDS
            self._take_each(types, room.beside)  # something that is not short may be more urgent
            room = self._room()
        if short and (room.now <= 0 or time.monotonic() < self._any_due):
            if self._take_ahead(ahead, room):
                return True
            self._any_due = 0.0
            room = self._room()
        if room.now <= 0:
            self.is_sated &= bool(short)
            return False
        full = self._take_each(types, room.now)
        self.is_sated = not full
        if full and short:  # at once: admission, which comes first the next time, may take a while
            self._any_due = time.monotonic() + ANY_TYPE_EVERY_SECONDS
            self._take_ahead(ahead, self._room())
        return full

    def _take_ahead(self, portion: Portion, room: Room) -> bool:
        """True if there may be more."""
        most = min(self._reach, room.now + room.ahead)
        if most <= 0:
            self.is_sated = False
            return False
        self.is_sated = self._take(portion, most, may_walk=self._lanes.may_walk()).jobs < most
        self._reach = max(FIRST_REACH, 0 if self.is_sated else REACH_GROWTH * most)
        return not self.is_sated

    def _take_each(self, types: list[str], room: int) -> bool:
        may_walk = self._lanes.may_walk()  # all of them, or none
        portions = self._split(types)
        took: list[Took] = []
        for number in range(len(portions)):
            took.append(self._take(portions[number], room, may_walk=may_walk))
            room -= took[number].jobs
            if room <= 0:
                return True
            if len(portions) > 1:  # what was launched counts against the limits of the next ones
                portions = self._split(types)
        if all(each.walked and not each.jobs for each in took) and not self._may_open_more:
            self.empty_at = self._lanes_at
        return False

    def _split(self, types: list[str]) -> list[Portion]:
        return split(types, self._left(types))

    def _left(self, types: list[str]) -> Left:
        return left_in_process(types, self._gates.rules, self._in_hand)

    def _take(self, portion: Portion, room: int, *, may_walk: bool) -> Took:
        """Claim and launch. What a short batch may have missed is looked for from the beginning."""
        limit = room if portion.most is None else min(room, portion.most)
        if limit <= 0:
            return Took(0, walked=True)
        walked, walked_at = may_walk and self._lanes.is_walk_due(), self._lanes.walked_at
        taken = self._claim_from(portion, limit, walk=walked)  # a walk all the same, where it has no mark
        if taken < limit and may_walk and not walked and self._lanes.walked_at == walked_at:
            walked = True
            taken += self._claim_from(portion, limit - taken, walk=True)
        return Took(taken, walked)

    def _claim_from(self, portion: Portion, limit: int, *, walk: bool) -> int:
        starts = self._lanes.starts(walk=walk, kind=portion.kind)
        starts = [start for start in starts if self._gates.serves(start.queue) and portion.reads(start.queue)]
        asked = replace(
            self._asked(portion.job_types, limit),
            retryable_only=portion.kind == AHEAD,
            # Forgotten, a claim may be made twice. That is not for jobs of which only so many may run.
            durable=any(self._gates.may_be_gated(start.queue) for start in starts),
        )
        began = time.monotonic()
        jobs = claim(self.connection, asked, starts)
        if not (asked.durable or asked.retryable_only) and (once := [job for job in jobs if job.max_attempts == 1]):
            make_durable(self.connection, once)
        if len(jobs) < limit:
            self._lanes.exhausted(starts, kind=portion.kind)
        self._lanes.claimed(starts, time.monotonic() - began, kind=portion.kind)
        if runnable := self._gates.keep_gates(self.connection, jobs):
            with computing():
                self._launch(runnable)
        last = {(job.queue, job.priority): job for job in jobs}  # in order, so the last of each lane stays
        if jobs:
            self._patience = SHORTEST_POLL_SECONDS
        for job in last.values():
            self._lanes.remember(job.queue, job.priority, job.run_at, job.id, kind=portion.kind)
        return len(jobs)

    def _asked(self, job_types: Sequence[str], limit: int) -> Claim:
        return Claim(
            worker_id=self._worker_id,
            token=uuid4(),
            job_types=job_types,
            limit=limit,
            lease=self._options.lease_seconds,
            leases={job_type.name: job_type.lease for job_type in registry if job_type.lease is not None},
            paused_subjects=sorted(self._gates.pauses.subjects),
        )

    def _maintain(self) -> None:
        if time.monotonic() >= self._recover_due:
            began = time.monotonic()
            recover_silent(self.connection)
            rest = (time.monotonic() - began) / SHARE
            self._recover_due = time.monotonic() + max(rest, self._options.recover_seconds * uniform(0.75, 1))
            self._lanes_wanted = True  # what it gave back may lie in a lane that nobody knows
        if time.monotonic() >= self._lanes_due():
            self._find_lanes()
        if time.monotonic() >= self._gates_due:  # a pause is kept soon, also where looking for lanes takes long
            self._look_at_gates()
        while self._heard:
            lane = self._heard.popleft()
            self._lanes.learn([lane])
            self._gates.told(lane[0])
        while self._freed:
            self._gates.freed(self._freed.popleft())

    def _lanes_due(self) -> float:
        rest = 0.0 if self._lanes_wanted else min(LANES_EVERY_SECONDS, self._options.poll_seconds)
        return self._lanes_at + max(rest, self._lanes_cost / SHARE)

    def _find_lanes(self) -> None:
        self._lanes_wanted = False  # before the look: what is said from now on is not in it
        self._lanes_at = time.monotonic()
        self._look_at_gates()
        found = find_lanes(self.connection)
        self._lanes.learn(found)
        self._lanes_cost = time.monotonic() - self._lanes_at
        if self._gates.is_to_visit(SYSTEM_QUEUE) or any(queue == SYSTEM_QUEUE for queue, _ in found):
            self._call_chores()

    def _look_at_gates(self) -> None:
        self._gates_due = time.monotonic() + GATES_EVERY_SECONDS
        self._gates.refresh(self.connection)
        if self._gates.pauses.are_unfinished:
            self._call_janitor()
