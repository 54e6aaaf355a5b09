"""(new) -> queued for one job whose key may be taken: what the second enqueue gets is what its caller asked for."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import KeyTaken
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.holders import find_run, replace_waiting
from jobs_app.lifecycle.idempotency import take_key
from jobs_app.lifecycle.new_job import Enqueued, NewJob

TRIES = 3


def enqueue_or(job: NewJob, on_conflict: str) -> Enqueued:
    """Store the job; where its key is taken, `return` the run that has it, raise an `error`, or `replace` its work."""
    connection = jobs_connection()
    for _ in range(TRIES):
        [found] = enqueue([job])
        if found.created:
            return found
        if given := _resolve(connection, job, found, on_conflict):
            return given
    raise _taken(job, found, "changes faster than it can be replaced; try again")


def enqueue_throttled(job: NewJob, seconds: float, on_conflict: str) -> Enqueued:
    """Store the job unless one with its key was stored within the last `seconds`."""
    connection = jobs_connection()
    with write_savepoint(connection):
        scope = f"throttle {job.queue}"
        known = take_key(
            connection, scope=scope, key=job.key or job.job_type, run_id=job.id, body_hash="", kept_for=seconds
        )
        if known is None:
            return enqueue_or(job, "error")
        found = find_run(connection, known[0])
        given = None if found is None else _resolve(connection, job, found, on_conflict)
    if given is None:
        raise KeyTaken(f"run {known[0]} with the key of {job.job_type!r} was enqueued a moment ago", known[0])
    return given


def require_joinable(job: NewJob, found: Enqueued) -> None:
    """Refuse to let one kind of work stand for another."""
    if found.job_type != job.job_type:
        raise _taken(job, found, f"is of type {found.job_type!r}, which is other work; give this one another key")


def _resolve(connection: BaseDatabaseWrapper, job: NewJob, found: Enqueued, on_conflict: str) -> Enqueued | None:
    """None: it has ended just now, and its key is free again."""
    require_joinable(job, found)
    if on_conflict == "return":
        return found
    if on_conflict == "error":
        raise _taken(job, found, f"is {found.state}")
    if replaced := replace_waiting(connection, found.id, job):
        return replaced
    if found.state != "queued":
        raise _taken(job, found, f"is {found.state} and cannot be replaced any more")
    return None


def _taken(job: NewJob, found: Enqueued, why: str) -> KeyTaken:
    return KeyTaken(f"the key {job.key!r} in queue {job.queue!r} is held by run {found.id}, which {why}.", found.id)
