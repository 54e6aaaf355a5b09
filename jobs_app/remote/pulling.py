"""queued -> running for a worker on another host: one job a call, waited for if it wants that."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.errors import Fail
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.lifecycle.presence import Presence
from jobs_app.models import Job, WorkerKind
from jobs_app.payloads import Payload, field_of, with_defaults
from jobs_app.registry import registry
from jobs_app.remote.attendance import attend
from jobs_app.remote.counting import count_started
from jobs_app.remote.desks import Choice, desks
from jobs_app.remote.rounds import rounds
from jobs_app.remote.waiting import room
from jobs_app.windows import first_open
from jobs_app.worker.context import MAX_COUNT
from jobs_app.worker.desk import Asker, Desk
from jobs_app.worker.flight import Flight, board
from jobs_app.worker.runner import arguments, failed, start
from jobs_app.worker.telling import tell

SHORTEST_LEASE, LONGEST_LEASE = 30.0, 600.0  # seconds
LONGEST_WAIT = 30.0
MOST_UNFIT = 20  # jobs that no handler could take, before whoever asks is answered that there is nothing for them
IDLE_RECOVER_SECONDS = 1.0  # who finds nothing looks this often for leases that ended
LEAST_BEAT_SECONDS = 30.0  # a worker that was heard of within three of these is alive


@dataclass(frozen=True, kw_only=True)
class Pull:
    """Who asks, for what, and for how long it wants to have it."""

    worker_id: str  # as stored
    name: str  # as it calls itself
    choice: Choice
    lease: float | None = None  # seconds; None: as the job type or the settings say
    wait: float = 0.0
    concurrency: int = 1

    @cached_property
    def asker(self) -> Asker:
        if self.lease is not None:
            return Asker(self.worker_id, clamped(self.lease))
        own = {each.name: clamped(each.lease) for each in registry if each.lease is not None}
        return Asker(self.worker_id, clamped(get_settings().remote_lease_seconds), own)


class Handed(NamedTuple):
    job: ClaimedJob
    payload: dict[str, Any]  # with the defaults that its handler has here
    lease: float  # seconds, from `job.started_at` at least
    timeout: float | None

    @property
    def report_every(self) -> float:
        """Seconds: a third of the lease, and of what a report that asks for nothing extends it to."""
        return min(self.lease, get_settings().remote_extend_seconds) / 3


class Nothing(NamedTuple):
    reason: str  # empty, busy, paused, maintenance or draining
    stopped: bool = False  # there will be nothing for anybody until somebody goes on


DRAINING = Nothing("draining")


def pull(asked: Pull, *, is_welcome: Callable[[], None]) -> Handed | Nothing:
    """One job, or why there is none. `is_welcome` raises where the worker may not have any: asked again after a wait,
    in which its token may have been revoked, or it may have gone."""
    connection, began = jobs_connection(), time.monotonic()
    if not attend(connection, _presence(asked)):
        return DRAINING
    rounds.go(connection, every=get_settings().recover_seconds)
    desk = desks.of(asked.choice)
    found = _find(connection, desk, asked)
    if found is None and asked.wait > 0:
        _let_go(connection)
        found = room.wait(asked.choice, min(asked.wait, LONGEST_WAIT), lambda: _look_again(desk, asked, is_welcome))
        if found is None:
            is_welcome()  # also to hear why there is nothing
    return _why_nothing(jobs_connection(), desk, asked, began) if found is None else found


def clamped(lease: float) -> float:
    return min(LONGEST_LEASE, max(SHORTEST_LEASE, lease))


def _look_again(desk: Desk, asked: Pull, is_welcome: Callable[[], None]) -> Handed | None:
    """With a connection for that long only: fifty that wait would hold fifty."""
    connection = jobs_connection()
    try:
        is_welcome()
        return _find(connection, desk, asked) if attend(connection, _presence(asked)) else None
    finally:
        _let_go(connection)


def _let_go(connection: BaseDatabaseWrapper) -> None:
    if not connection.in_atomic_block:
        connection.close()


def _find(connection: BaseDatabaseWrapper, desk: Desk, asked: Pull) -> Handed | None:
    """What waits; else what a worker that went silent just now has lost."""
    found = _take(connection, desk, asked)
    if found is None and rounds.go(connection, every=IDLE_RECOVER_SECONDS):
        return _take(connection, desk, asked)
    return found


def _take(connection: BaseDatabaseWrapper, desk: Desk, asked: Pull) -> Handed | None:
    asker = asked.asker
    for _ in range(MOST_UNFIT):
        if (job := desk.claim(connection, asker)) is None:
            return None
        flight = board(job, worker=asked.name, worker_id=asked.worker_id, lease=asker.lease)
        try:
            payload = _checked_payload(flight)
            target = _target(flight, payload)
        except Exception as error:  # of a payload that no handler could take, or of the host's own callable
            _refuse(connection, flight, error)
            continue
        start(flight)
        count_started(job)
        job = _with_target(connection, job, target)
        return Handed(job, payload, asker.leases.get(job.job_type, asker.lease), flight.timeout)
    return None


def _checked_payload(flight: Flight) -> dict[str, Any]:
    """Whatever a local worker would not call a handler with goes to no remote one."""
    if flight.unfit is not None:
        raise flight.unfit
    arguments(flight)
    return with_defaults(flight.job_type, json.loads(flight.job.payload))


def _target(flight: Flight, payload: Payload) -> int | None:
    """How many results are enough, where no worker before has been told."""
    job, job_type = flight.job, flight.job_type
    target = None if job.target_count is not None else field_of(job_type, job_type.target, payload)
    if target is None:
        return None
    if not isinstance(target, int) or isinstance(target, bool) or not 0 < target <= MAX_COUNT:
        raise Fail(f"the target of {job.job_type} is {target!r}: it must be a whole number above 0")
    return target


def _with_target(connection: BaseDatabaseWrapper, job: ClaimedJob, target: int | None) -> ClaimedJob:
    if target is None:
        return job
    Job.objects.using(connection.alias).filter(pk=job.id, token=job.token).update(target_count=target)
    return job._replace(target_count=target)


def _refuse(connection: BaseDatabaseWrapper, flight: Flight, error: Exception) -> None:
    ended = failed(flight, error)
    if finish(connection, [ended]):
        tell(flight.job, ended, flight.context.worker_id)


def _why_nothing(connection: BaseDatabaseWrapper, desk: Desk, asked: Pull, began: float) -> Nothing:
    pauses, choice = read_pauses(connection), asked.choice  # not as of the last look: somebody may ask why just now
    wanted = [each for each in registry if choice.takes(each)]
    if not attend(connection, _presence(asked)):
        return DRAINING
    if pauses.everything:
        return Nothing("paused", stopped=True)
    queues = {*choice.queues, *(each.queue for each in wanted if choice.serves(each.queue))}
    if queues & pauses.queues or choice.job_types & pauses.job_types:
        return Nothing("paused")
    if windows := desk.gates.calendar.windows:
        now = database_now(connection)
        closed = [first_open(windows, each.queue, each.name, now) is not None for each in wanted]
        if any(closed):
            return Nothing("maintenance", stopped=all(closed))
    return Nothing("empty" if desk.empty_at >= began else "busy")


def _presence(asked: Pull) -> Presence:
    return Presence(
        id=asked.worker_id,
        kind=WorkerKind.REMOTE,
        name=asked.name,
        queues=asked.choice.queues or asked.choice.allowed,
        job_types=sorted(asked.choice.job_types),
        concurrency=asked.concurrency,
        beat_seconds=max(LEAST_BEAT_SECONDS, asked.asker.lease / 3),
    )
