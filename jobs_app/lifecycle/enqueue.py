"""(new) -> queued: one INSERT in the caller's transaction, with the wake-up riding in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import KeyTaken
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.holders import find_holders
from jobs_app.lifecycle.insert import insert
from jobs_app.lifecycle.line_up import line_up
from jobs_app.lifecycle.new_job import ONE_WAITING, Enqueued, NewJob

ROWS_PER_STATEMENT = 2000
TRIES = 3
BYTES_PER_STATEMENT = 16 * 1024 * 1024  # of payloads; PostgreSQL and SQLite both end at a GB


def enqueue(jobs: Sequence[NewJob]) -> list[Enqueued]:
    """Store the jobs, all or none of a statement's worth at a time, and say when each is due."""
    connection = jobs_connection()
    stored: list[Enqueued] = []
    for part in _statements(jobs):
        stored += _insert(connection, part)
    return stored


def enqueue_one(job: NewJob) -> Enqueued:
    """The same for one job, without the steps that only several need, or one that may be refused."""
    connection = jobs_connection()
    if job.policy in ONE_WAITING:
        [found] = _insert(connection, [job])
        return found
    return _enqueued(job, insert(connection, [job]).queued_at)


def is_one_statement(jobs: Sequence[NewJob]) -> bool:
    return len(jobs) <= ROWS_PER_STATEMENT and sum(len(job.payload) for job in jobs) <= BYTES_PER_STATEMENT


def _statements(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    if jobs and is_one_statement(jobs):
        yield jobs
        return
    part: list[NewJob] = []
    size = 0
    for job in jobs:
        size += len(job.payload)
        if part and (len(part) == ROWS_PER_STATEMENT or size > BYTES_PER_STATEMENT):
            yield part
            part, size = [], len(job.payload)
        part.append(job)
    if part:
        yield part


def _insert(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> list[Enqueued]:
    """Store what may be stored. Where a key lets no second job in, the first one is what the caller gets."""
    stored = insert(connection, _in_order(jobs))
    if stored.ids is None:
        return [_enqueued(job, stored.queued_at) for job in jobs]
    known: dict[UUID, Enqueued] = {}
    refused = jobs
    for _ in range(TRIES):
        known |= {job.id: _enqueued(job, stored.queued_at) for job in refused if stored.has(job)}
        if refused := [job for job in refused if job.id not in known]:
            known |= find_holders(connection, refused)
            refused = [job for job in refused if job.id not in known]  # the holder ended meanwhile
        if not refused:
            return [known[job.id] for job in jobs]
        stored = insert(connection, _in_order(refused))
    raise KeyTaken(f"the key of {refused[0].job_type!r} is held by a job that this transaction cannot see; try again")


def _in_order(jobs: Sequence[NewJob]) -> Sequence[NewJob]:
    """As everything that takes several keys; and those that share one behind each other."""
    if not any(job.key for job in jobs):
        return jobs
    return line_up(sorted(jobs, key=lambda job: (job.queue, job.key or "")))


def _enqueued(job: NewJob, queued_at: datetime) -> Enqueued:
    if job.is_due_at_once:
        return Enqueued(job.id, queued_at, queued_at)
    run_at = job.run_at or queued_at + timedelta(seconds=job.delay)
    return Enqueued(job.id, queued_at, max(run_at, queued_at))
