"""What a worker knows about gates: rules, pauses, windows, the queues where jobs wait, and when to look again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.admit import Asking, Turns, admit
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.gated import gated_queues
from jobs_app.lifecycle.hand_over import Straight
from jobs_app.lifecycle.maintenance import read_windows
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.lifecycle.pauses import Pauses, read_pauses
from jobs_app.lifecycle.regate import Misplaced, put_back
from jobs_app.lifecycle.rules import Rules, read_rules
from jobs_app.models import Gate
from jobs_app.registry import JobType, registry
from jobs_app.worker.deferring import Calendar
from jobs_app.worker.portions import UNLIMITED, Left

STEPS_AT_ONCE = 20  # a large backlog of new jobs is looked at between claims, not instead of them


class Gatekeeper:
    def __init__(self, serves: Callable[[str], bool]) -> None:
        self._serves = serves
        self._turns = Turns()
        self._to_visit: set[str] = set()
        self._not_before: dict[str, float] = {}  # by the monotonic clock: when a rate lets the next of a queue start
        self._may_be_gated: set[str] = set()
        self._opened: set[tuple[str, int]] = set()
        self.rules = Rules()
        self.pauses = Pauses()
        self.calendar = Calendar()
        self._key_only: dict[str, str] = {}  # by job type: what its queue and itself are called among the straight
        self._counted_here: frozenset[str] = frozenset()  # types of which one process may run only so many
        self._asked_for: Sequence[str] = ()

    def refresh(self, connection: BaseDatabaseWrapper) -> None:
        """Once a second: five small queries."""
        read_overrides(connection)
        self.rules = read_rules(connection)
        self.pauses = read_pauses(connection)
        if (windows := read_windows(connection)) != self.calendar.windows:
            self.calendar = Calendar(windows)
        found = gated_queues(connection)
        declared = {each.queue for each in registry if self.rules.gate_of(each.queue, each.name, each.policy)}
        self._may_be_gated = {*found, *declared, *self.rules.queues}
        self._to_visit.update(found)
        self._key_only = {each.name: f"{each.queue} {each.name}" for each in registry if self._needs_only_a_key(each)}
        self._counted_here = frozenset(each.name for each in registry if self._is_counted_here(each))

    @property
    def straight(self) -> Straight:
        """Who may be given its key by the one that has it: of what was asked for last, so that somebody starts it."""
        return Straight(self._kinds(self._asked_for), sorted(self.pauses.subjects))

    def starting(self, is_short: Callable[[str], bool]) -> list[str]:
        """Of these, who may be claimed as it gets its key: where no process has a limit of its own to count against."""
        return self._kinds([name for name in self._asked_for if is_short(name) and name not in self._counted_here])

    def _kinds(self, job_types: Sequence[str]) -> list[str]:
        known = self._key_only  # the claimer's thread may put another in its place
        return [known[name] for name in job_types if name in known]

    def _needs_only_a_key(self, job_type: JobType) -> bool:
        queue, rules = job_type.queue, self.rules.of_queue(job_type.queue)
        has_key = self.rules.gate_of(queue, job_type.name, job_type.policy) == Gate.KEY
        return has_key and self.serves(queue) and not rules.is_shared and not job_type.limits.is_shared

    def _is_counted_here(self, job_type: JobType) -> bool:
        rules = self.rules.of_queue(job_type.queue)
        return bool(rules.concurrency_per_process or job_type.limits.concurrency_per_process)

    def serves(self, queue: str) -> bool:
        return self._serves(queue) and self.pauses.allows(queue)

    def may_be_gated(self, queue: str) -> bool:
        return queue in self._may_be_gated

    def is_to_visit(self, queue: str) -> bool:
        """Does anything wait there before a gate?"""
        return queue in self._to_visit

    def told(self, queue: str) -> None:
        """Something was enqueued there, or may be claimed again."""
        if queue in self._may_be_gated:
            self._to_visit.add(queue)

    def freed(self, queue: str) -> None:
        """A job that had passed a gate has ended: the next one may be let in."""
        self._may_be_gated.add(queue)
        self._to_visit.add(queue)

    def admit(
        self, connection: BaseDatabaseWrapper, job_types: Sequence[str], room: int, in_process: Left = UNLIMITED
    ) -> bool:
        """Open what may start now; True if there may be more to do at once."""
        self._asked_for = job_types
        self._look_where_rates_allow()
        visit = {queue for queue in self._to_visit if self.serves(queue)}
        self._to_visit.clear()
        if not visit:
            return False
        asking = Asking(
            job_types=job_types,
            rules=self.rules,
            room=room,
            room_of_type=in_process.of_type,
            paused_subjects=sorted(self.pauses.subjects),
        )
        is_more = False
        for queue in sorted(visit):
            within = replace(asking, room=min(room, in_process.of_queue.get(queue, room)))
            is_more |= self._admit_queue(connection, queue, within)
        return is_more

    def opened(self) -> set[tuple[str, int]]:
        """The lanes in which something opened since the last time."""
        lanes, self._opened = self._opened, set()
        return lanes

    def next_look(self) -> float:
        """By the monotonic clock."""
        return min(self._not_before.values(), default=float("inf"))

    def keep_gates(self, connection: BaseDatabaseWrapper, jobs: Sequence[ClaimedJob]) -> Sequence[ClaimedJob]:
        """What may run, of jobs that were claimed; what was stored before its limits were set goes to its gate."""
        wanted = {kind: self.rules.gate_of(*kind) for kind in {(job.queue, job.job_type, job.policy) for job in jobs}}
        if not any(wanted.values()):
            return jobs
        gates = [(job, wanted[job.queue, job.job_type, job.policy]) for job in jobs]
        gone = put_back(connection, [Misplaced(job.id, job.token, gate) for job, gate in gates if job.gate < gate])
        for job in jobs:
            if job.id in gone:
                self.freed(job.queue)
        return [job for job in jobs if job.id not in gone]

    def _admit_queue(self, connection: BaseDatabaseWrapper, queue: str, asking: Asking) -> bool:
        for _ in range(STEPS_AT_ONCE):
            admitted = admit(connection, queue, asking, self._turns)
            self._opened |= admitted.lanes
            if admitted.wait_seconds is not None:
                due = time.monotonic() + admitted.wait_seconds
                self._not_before[queue] = min(due, self._not_before.get(queue, due))
            if not admitted.is_more or not admitted.opened:
                break
        if admitted.is_more or admitted.is_cut:
            self._to_visit.add(queue)
        return admitted.is_more

    def _look_where_rates_allow(self) -> None:
        now = time.monotonic()
        for queue in [queue for queue, due in self._not_before.items() if due <= now]:
            del self._not_before[queue]
            self._to_visit.add(queue)
