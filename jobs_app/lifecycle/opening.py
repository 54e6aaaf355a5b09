"""The gate of limits: of the jobs that wait for a limit, which open now, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.gated import Gated, Reader
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.rates import Rates, Scope
from jobs_app.lifecycle.rules import limits_of
from jobs_app.limits import QueueRules, Rate

# Bounded by the limit that is asked for: no more rows than that are ever open at once.
OPEN_IN_QUEUE = """
SELECT job_type, state, count(*) FROM jobs_app_job
 WHERE gate > 0 AND hold = '' AND queue = %s GROUP BY job_type, state
"""
OPEN_OF_TYPE = "SELECT count(*) FROM jobs_app_job WHERE gate > 0 AND hold = '' AND job_type = %s"


class Room(NamedTuple):
    """How many jobs the asking worker can take: in all, and of each type that it serves."""

    total: int
    of_type: Mapping[str, int]


class Opening:
    """One step's choice, under the lock of the queue."""

    def __init__(
        self, connection: BaseDatabaseWrapper, queue: str, rules: QueueRules, reader: Reader, rates: Rates
    ) -> None:
        self._connection = connection
        self._queue = queue
        self._rules = rules
        self._reader = reader
        self._rates = rates
        self._unclaimed: Counter[str] = Counter()  # open already, of each type
        self._room_of_type: Mapping[str, int] = {}
        self._left_of_type: dict[str, int] = {}
        self.deferred: list[tuple[Gated, datetime]] = []  # until the rate of their key lets them start
        self.is_more = False  # another step would find something to do
        self.is_cut = False  # with more room, more might open

    def choose(self, room: Room, last_subject: dict[str, str]) -> list[Gated]:
        """At most as many as the asking worker has room for: what opens is claimed at once, so that neither order nor
        fairness is lost between the two."""
        lanes = self._reader.lanes("limit")
        wanted = self._capacity(room) if lanes else 0
        if wanted <= 0:
            return []
        takes_turns = self._rules.fair_share
        candidates = self._in_turns(wanted, last_subject) if takes_turns else self._by_urgency(lanes, wanted)
        chosen = self._within_rates(self._within_types(self._within_key_rates(candidates), wanted))
        if takes_turns and chosen:
            last_subject[self._queue] = chosen[-1].subject
        self._use_key_rates(chosen)
        return chosen

    def _capacity(self, room: Room) -> int:
        """What the worker can take beside what is open for it already, within the limit of the queue."""
        open_here = self._rows(OPEN_IN_QUEUE, self._queue)
        self._unclaimed.update({job_type: count for job_type, state, count in open_here if state == "queued"})
        self._room_of_type = room.of_type
        left = room.total - sum(min(most, self._unclaimed[name]) for name, most in room.of_type.items())
        within_limit = left
        if self._rules.concurrency is not None:
            within_limit = min(left, self._rules.concurrency - sum(count for _, _, count in open_here))
        self.is_cut = within_limit == left
        return within_limit

    def _by_urgency(self, lanes: Iterable[tuple[str, int]], wanted: int) -> list[Gated]:
        found: list[Gated] = []
        for lane in lanes:
            limit = min(wanted, self._left(lane[0]))
            if limit > 0:
                found += self._reader.due("limit", lane, limit)
        return sorted(found, key=self._urgency)

    def _urgency(self, job: Gated) -> tuple[Any, ...]:
        """With ageing, who waits gains a step of priority in each period, so that low priority is late and not lost."""
        if self._rules.ageing is None:
            return job.urgency
        waited = (self._rates.now - job.run_at).total_seconds()
        return -(job.priority + waited // self._rules.ageing), job.run_at, job.id

    def _in_turns(self, wanted: int, last_subject: dict[str, str]) -> list[Gated]:
        """One job of each subject in turn, going on after the subject that was last."""
        last = last_subject.get(self._queue, "")
        after = [subject for subject in self._reader.subjects(last, wanted + 1) if subject > last]
        before = [subject for subject in self._reader.subjects("", wanted) if subject <= last]
        subjects = (after + before)[:wanted]
        if not subjects:
            return []
        # A type at its limit may fill the front of a subject, so more is read than can open.
        each = [self._reader.due_of(subject, -(-wanted // len(subjects)) + wanted) for subject in subjects]
        return [job for job in chain.from_iterable(zip_longest(*each)) if job is not None]

    def _within_types(self, candidates: Iterable[Gated], wanted: int) -> list[Gated]:
        chosen: list[Gated] = []
        for job in candidates:
            if len(chosen) < wanted and self._left(job.job_type) > 0:
                self._left_of_type[job.job_type] -= 1
                chosen.append(job)
        return chosen

    def _within_key_rates(self, jobs: Iterable[Gated]) -> list[Gated]:
        """Those whose key may start one more now. The others get a moment each, and are out of the way until then."""
        planned: Counter[Scope] = Counter()
        allowed: list[Gated] = []
        for job in jobs:
            paced = self._key_rates(job)
            moment = max((self._rates.free_at(*each, after=planned[each[0]]) for each in paced), default=None)
            planned.update(scope for scope, _ in paced)
            if moment is None or moment <= self._rates.now:
                allowed.append(job)
            else:
                self._rates.wait_until(moment)
                self.deferred.append((job, moment))
        self.is_more |= bool(self.deferred)
        return allowed

    def _use_key_rates(self, chosen: Iterable[Gated]) -> None:
        """Who only waited for the rate of a key makes room for the next one as it opens, not as it ends."""
        used = Counter(each for job in chosen for each in self._key_rates(job))
        for (scope, rate), count in used.items():
            self._rates.take(scope, rate, count)
        wake_next(self._connection, [Key(self._queue, scope.key) for scope, _ in used])
        self.is_more |= bool(used)

    def _key_rates(self, job: Gated) -> list[tuple[Scope, Rate]]:
        if job.key is None:
            return []
        of_queue, of_type = self._rules.rate_per_key, limits_of(job.job_type).rate_per_key
        scopes = Scope.of_key(self._queue, job.key), Scope.of_key(self._queue, job.key, job.job_type)
        return [(scope, rate) for scope, rate in zip(scopes, (of_queue, of_type), strict=True) if rate is not None]

    def _within_rates(self, jobs: Sequence[Gated]) -> list[Gated]:
        granted = {
            job_type: self._rates.take(Scope.of_type(job_type), limits_of(job_type).rate, count)
            for job_type, count in Counter(job.job_type for job in jobs).items()
        }
        allowed = list(_first(jobs, granted))
        return allowed[: self._rates.take(Scope.of_queue(self._queue), self._rules.rate, len(allowed))]

    def _left(self, job_type: str) -> int:
        """How many more of a type may open, over all queues. Who else opens some of it now goes first."""
        if job_type not in self._left_of_type:
            self._left_of_type[job_type] = self._count_left(job_type)
        return self._left_of_type[job_type]

    def _count_left(self, job_type: str) -> int:
        limits = limits_of(job_type)
        room = self._room_of_type[job_type] - self._unclaimed[job_type]
        if room <= 0 or (limits.concurrency is None and limits.rate is None):
            return room
        if not try_lock(self._connection, f"type {job_type}"):
            self.is_more = True
            return 0
        if limits.concurrency is None:
            return room
        [(count,)] = self._rows(OPEN_OF_TYPE, job_type)
        return min(room, limits.concurrency - count)

    def _rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()


def _first(jobs: Iterable[Gated], granted: dict[str, int]) -> Iterator[Gated]:
    """Of each type as many as were granted, the most urgent ones."""
    left = dict(granted)
    for job in jobs:
        if left[job.job_type] > 0:
            left[job.job_type] -= 1
            yield job
