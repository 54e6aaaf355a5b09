"""(new) -> queued for one job whose key may be taken: what the second enqueue gets is what its caller asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import IdempotencyConflict, KeyTaken
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.enqueue import enqueue, enqueue_one, is_one_statement
from jobs_app.lifecycle.holders import find_run, replace_waiting
from jobs_app.lifecycle.idempotency import free_key, hash_of, point_key, take_key
from jobs_app.lifecycle.new_job import Enqueued, NewJob, may_be_refused

TRIES = 3


def enqueue_or(job: NewJob, on_conflict: str = "return") -> Enqueued:
    """Store the job; where its key is taken, `return` the run that has it, raise an `error`, or `replace` its work."""
    for _ in range(TRIES):
        found = enqueue_one(job)
        if found.created:
            return found
        if given := _resolve(jobs_connection(), job, found, on_conflict):
            return given
    raise _taken(job, found, "changes faster than it can be replaced; try again")


def enqueue_once(
    job: NewJob,
    *,
    key: str,
    body: Any = None,
    store: Callable[[NewJob], Enqueued] = enqueue_or,
) -> tuple[UUID, Enqueued | None]:
    """Store the job unless the idempotency key was used before; then the id of that run, and None.

    `body` is what must be the same under one key; without it, the whole payload. A twin in a transaction that is still
    open is waited for.
    """
    connection = jobs_connection()
    body_hash = hash_of(job.job_type, json.loads(job.payload) if body is None else body)
    with write_savepoint(connection):
        known = take_key(connection, scope=job.job_type, key=key, run_id=job.id, body_hash=body_hash)
        if known is None:
            new = store(job)
            if new.created:
                return new.id, new
            point_key(connection, scope=job.job_type, key=key, run_id=new.id)
            return new.id, None
    run_id, known_hash = known
    if known_hash != body_hash:
        raise IdempotencyConflict(
            f"idempotency key {key!r} of {job.job_type!r} was used for run {run_id} with another payload; "
            "use a new key for new work"
        )
    return run_id, None


def enqueue_throttled(job: NewJob, seconds: float, on_conflict: str) -> Enqueued:
    """Store the job unless one with its key was stored within the last `seconds`."""
    connection = jobs_connection()
    scope, key = f"throttle {job.queue}", job.key or job.job_type
    with write_savepoint(connection):
        known = take_key(connection, scope=scope, key=key, run_id=job.id, body_hash="", kept_for=seconds)
        if known is None:
            new = enqueue_or(job, on_conflict)
            if not new.created:
                free_key(connection, scope=scope, key=key)  # its policy let none in: no period begins
            return new
        found = find_run(connection, known[0])
        given = None if found is None else _resolve(connection, job, found, on_conflict)
    if given is None:
        raise KeyTaken(f"run {known[0]} with the key of {job.job_type!r} was enqueued a moment ago", known[0])
    return given


def enqueue_all(jobs: Sequence[NewJob], on_conflict: str) -> list[Enqueued]:
    """Store all the jobs or none. Nothing is replaced: what a key let not in must be joinable, and wanted so."""
    if is_one_statement(jobs) and not may_be_refused(jobs):
        return enqueue(jobs)  # all or none by itself
    with write_savepoint(jobs_connection()):
        stored = enqueue(jobs)
        for job, found in zip(jobs, stored, strict=True):
            if not found.created:
                _require_joinable(job, found)
                if on_conflict != "return":
                    raise _taken(job, found, f"is {found.state}. No job was stored")
    return stored


def _require_joinable(job: NewJob, found: Enqueued) -> None:
    """Refuse to let one kind of work stand for another."""
    if found.job_type != job.job_type:
        raise _taken(job, found, f"is of type {found.job_type!r}, which is other work; give this one another key")


def _resolve(connection: BaseDatabaseWrapper, job: NewJob, found: Enqueued, on_conflict: str) -> Enqueued | None:
    """None: it has ended just now, and its key is free again."""
    _require_joinable(job, found)
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
