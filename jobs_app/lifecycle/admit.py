"""Admission: which of the jobs that wait before a gate become open to claims.

A job with a key, a limit or a rate is stored behind a gate. One step per queue, one at a time over all processes, opens
what may start: first by key, then by limits. The claim knows nothing of it: it reads open jobs, in order, whatever
waits in front of them. Nothing is counted in memory or in counters: live rows say how much is in use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby
from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.admission import elect, use_of
from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.database import now_sql, pinned_transaction
from jobs_app.lifecycle.gated import Gated, Owner, Reader
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.opening import Opening, Room
from jobs_app.lifecycle.rates import Rates
from jobs_app.lifecycle.relation import relation, same
from jobs_app.lifecycle.rules import Rules, limits_of
from jobs_app.lifecycle.turn_away import turn_away
from jobs_app.limits import ONE_RUNNING, QueueRules

ROWS_PER_STEP = 500
MOST_TURNED_AWAY = 1000  # in 10 ms: whoever ends the owner of such a key waits for it, and so does the next claim


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Who asks, and how much it can take."""

    job_types: Sequence[str]
    rules: Rules
    room: int = ROWS_PER_STEP
    room_of_type: Mapping[str, int] = field(default_factory=dict)  # where it can take fewer of one
    paused_subjects: Sequence[str] = ()


@dataclass
class Turns:
    """Where fair share goes on in each queue. Forgetting it costs nobody more than one turn."""

    last_subject: dict[str, str] = field(default_factory=dict)


class Admitted(NamedTuple):
    opened: int = 0
    lanes: frozenset[tuple[str, int]] = frozenset()  # (queue, priority) of what opened
    is_more: bool = False  # another step would find something to do
    is_cut: bool = False  # more could open if the asking worker had room
    wait_seconds: float | None = None  # until a rate lets the next one start


class Change(NamedTuple):
    id: UUID
    hold: str
    run_at: datetime | None = None


# Whatever opens is due now: claims read on from where they stopped, and everything new is in front of that.
APPLY = """
UPDATE jobs_app_job AS job
   SET hold = given.new_hold,
       run_at = CASE WHEN given.new_hold = '' THEN {now} ELSE coalesce(given.new_run_at, job.run_at) END
  FROM ({rows}) AS given
 WHERE {by_id}
"""
COLUMNS = {"id": "uuid", "new_hold": "text", "new_run_at": "time"}


def admit(connection: BaseDatabaseWrapper, queue: str, asking: Asking, turns: Turns | None = None) -> Admitted:
    """One step: look at what became due, and open what its key, the limits and the rates allow."""
    with pinned_transaction(connection):
        if not try_lock(connection, f"queue {queue}"):
            return Admitted(is_more=True)
        return _Step(connection, queue, asking, turns or Turns()).run()


class _Step:
    def __init__(self, connection: BaseDatabaseWrapper, queue: str, asking: Asking, turns: Turns) -> None:
        self._connection = connection
        self._queue = queue
        self._asking = asking
        self._rules: QueueRules = asking.rules.of_queue(queue)
        self._reader = Reader(connection, queue, job_types=asking.job_types, paused_subjects=asking.paused_subjects)
        self._rates = Rates(connection)
        self._turns = turns
        self._owners: list[Owner] = []
        self._is_more = False

    def run(self) -> Admitted:
        passed = self._pass_keys()
        opening = Opening(self._connection, self._queue, self._rules, self._reader, self._rates)
        opened = opening.choose(self._room(), self._turns.last_subject)
        changes = [Change(job.id, "") for job in opened]
        changes += [Change(job.id, "limit", moment) for job, moment in opening.deferred]
        self._apply(changes)
        self._is_more |= opening.is_more
        lanes = frozenset((self._queue, job.priority) for job in [*passed, *opened])
        if len(passed) + len(opened) > self._asking.room:
            wakeup.tell(self._connection, lanes)  # others have room as well
        wait = None if self._rates.next_at is None else (self._rates.next_at - self._rates.now).total_seconds()
        return Admitted(len(passed) + len(opened), lanes, self._is_more, opening.is_cut, wait)

    def _pass_keys(self) -> list[Gated]:
        """Each job that became due is looked at once; it goes on, or waits until somebody frees its key."""
        lanes = self._reader.lanes("new")
        if not lanes or self._turn_away(lanes):
            return []
        due = self._due(lanes)
        if not due:
            return []
        keys = sorted({job.key for job in due if job.key is not None})
        self._owners = self._reader.owners(keys) if keys else []
        contested = sorted(self._contested(due))
        waiting = self._reader.first_waiting(contested) if contested else []
        elected = self._elect(due + waiting)
        going_on = {job.id for job in elected}
        sure = self._sure_keys(keys) if len(going_on) < len(due) + len(waiting) else frozenset()
        losers = [job for job in due if job.id not in going_on]
        self._is_more |= any(job.key not in sure for job in losers)
        changes = [self._onward(job) for job in elected]
        changes += [Change(job.id, "key") for job in losers if job.key in sure]
        self._apply(changes)
        self._fill(waiting, going_on)
        opened = {change.id for change in changes if change.hold == ""}
        return [job for job in elected if job.id in opened]

    def _contested(self, due: Iterable[Gated]) -> set[str]:
        """Keys that one of these might get, so that it must be more urgent than those who wait for it."""
        taken = {owner.key for owner in self._owners if owner.policy in ONE_RUNNING}
        return {job.key for job in due if job.key and not (job.policy in ONE_RUNNING and job.key in taken)}

    def _fill(self, waiting: Iterable[Gated], going_on: Set[UUID]) -> None:
        """A key that let in all who were looked at may have room for the next: several may have ended together."""
        left = {job.key for job in waiting if job.id not in going_on}
        filled = {job.key for job in waiting if job.key and job.key not in left and job.policy not in ONE_RUNNING}
        wake_next(self._connection, [Key(self._queue, key) for key in filled if key])
        self._is_more |= bool(filled)

    def _turn_away(self, lanes: Sequence[tuple[str, int]]) -> bool:
        """Let those wait at once whose key another one has; True if that was all that was looked at, and enough."""
        for limit in (ROWS_PER_STEP, MOST_TURNED_AWAY):
            paused = self._asking.paused_subjects
            if turn_away(self._connection, self._queue, lanes, paused_subjects=paused, limit=limit) < limit:
                return False
        self._is_more = True
        return True

    def _due(self, lanes: Iterable[tuple[str, int]]) -> list[Gated]:
        found: list[Gated] = []
        for _, equals in groupby(lanes, key=lambda lane: lane[1]):
            if len(found) < ROWS_PER_STEP:
                found += chain.from_iterable(self._reader.due("new", lane, ROWS_PER_STEP) for lane in equals)
        found.sort(key=lambda job: job.urgency)
        self._is_more |= len(found) >= ROWS_PER_STEP
        return found[:ROWS_PER_STEP]

    def _elect(self, candidates: Iterable[Gated]) -> list[Gated]:
        owners = defaultdict(list)
        for owner in self._owners:
            owners[owner.key].append(owner)
        waiting = defaultdict(list)
        for job in sorted(candidates, key=lambda job: job.urgency):
            waiting[job.key].append(job)
        elected = waiting.pop(None, [])
        for key, jobs in waiting.items():
            elected += elect(jobs, use_of(owners[str(key)]), self._rules, limits_of)
        return elected

    def _sure_keys(self, keys: Sequence[str]) -> frozenset[str]:
        """Keys whose owners cannot end before we commit, so that their end will find who waits for it."""
        locked = self._reader.locked_owners(keys)
        return frozenset(keys) - {owner.key for owner in self._owners if owner.id not in locked}

    def _onward(self, job: Gated) -> Change:
        is_limited = self._rules.is_shared or limits_of(job.job_type).is_shared
        return Change(job.id, "limit" if is_limited else "")

    def _room(self) -> Room:
        asking = self._asking
        return Room(asking.room, {name: asking.room_of_type.get(name, asking.room) for name in asking.job_types})

    def _apply(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        in_order = sorted(changes, key=lambda change: change.id)  # as everything that locks several jobs
        rows, parameters = relation(self._connection, COLUMNS, in_order)
        with self._connection.cursor() as cursor:
            by_id = same(self._connection, "job.id", "given.id")
            cursor.execute(APPLY.format(rows=rows, now=now_sql(self._connection), by_id=by_id), parameters)
