"""(new) -> queued: one INSERT in the caller's transaction, with the wake-up riding in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import IdempotencyConflict
from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.database import (
    NOW,
    is_postgres,
    jobs_connection,
    read_sqlite_time,
    sqlite_after,
    while_busy,
    write_transaction,
)
from jobs_app.lifecycle.idempotency import hash_of, take_key
from jobs_app.lifecycle.relation import relation

ROWS_PER_STATEMENT = 2000
BYTES_PER_STATEMENT = 16 * 1024 * 1024  # of payloads; PostgreSQL and SQLite both end at a GB


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job before it is stored. `payload` and `meta` are JSON text, already checked."""

    id: UUID
    job_type: str
    queue: str
    priority: int
    max_attempts: int
    payload: str
    subject: str = ""
    run_at: datetime | None = None  # never before now: a lane is read from where the last claim stopped
    delay: float = 0  # seconds from now, where there is no `run_at`
    expires_at: datetime | None = None
    policy: str = "standard"
    key: str | None = None
    meta: str = "{}"
    actor: str = ""
    parent: UUID | None = None
    slot_at: datetime | None = None
    schedule: int | None = None


class Enqueued(NamedTuple):
    id: UUID
    queued_at: datetime
    run_at: datetime


COLUMNS = {
    "id": "uuid",
    "job_type": "text",
    "queue": "text",
    "priority": "int",
    "max_attempts": "int",
    "payload": "json",
    "subject": "text",
    "run_at": "time",
    "delay": "after",
    "expires_at": "time",
    "policy": "text",
    "key": "text",
    "meta": "json",
    "actor": "text",
    "parent": "uuid",
    "slot_at": "time",
    "schedule": "int",
}
STORED = [name for name in COLUMNS if name not in ("run_at", "delay")]
INSERT = f"""
INSERT INTO jobs_app_job ({", ".join(STORED)}, state, queued_at, run_at)
SELECT {", ".join(STORED)}, 'queued', {{now}}, {{latest}}(coalesce(run_at, delay), {{now}})
  FROM ({{rows}}) AS new
"""
# In the same statement: delivered at commit, rolled back with it. A NOTIFY of its own costs a third more.
TELLING = """
WITH new AS ({insert}),
told AS MATERIALIZED (SELECT count(pg_notify(%(channel)s, call)) FROM unnest(%(calls)s::text[]) AS call)
SELECT new.* FROM new, told
"""


def enqueue(jobs: Sequence[NewJob]) -> list[Enqueued]:
    """Store the jobs, all or none of a statement's worth at a time, and say when each is due."""
    connection = jobs_connection()
    stored: list[Enqueued] = []
    for part in _statements(jobs):
        stored += _insert(connection, part)
    return stored


def enqueue_once(job: NewJob, *, key: str, body: Any = None) -> tuple[UUID, Enqueued | None]:
    """Store the job unless `key` was used before; then the id of that run, and None.

    `body` is what must be the same under one key; without it, the whole payload. A twin in a transaction that is still
    open is waited for.
    """
    connection = jobs_connection()
    body_hash = hash_of(job.job_type, json.loads(job.payload) if body is None else body)
    with write_transaction(connection):
        known = take_key(connection, scope=job.job_type, key=key, run_id=job.id, body_hash=body_hash)
        if known is None:
            return job.id, _insert(connection, [job])[0]
    run_id, known_hash = known
    if known_hash != body_hash:
        raise IdempotencyConflict(
            f"idempotency key {key!r} of {job.job_type!r} was used for run {run_id} with another payload; "
            "use a new key for new work"
        )
    return run_id, None


def _statements(jobs: Sequence[NewJob]) -> Iterator[list[NewJob]]:
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
    rows, parameters = relation(connection, COLUMNS, [[getattr(job, name) for name in COLUMNS] for job in jobs])
    if not is_postgres(connection):
        return _insert_sqlite(connection, rows, parameters, jobs)
    sql = INSERT.format(now=NOW, latest="greatest", rows=rows) + " RETURNING id, queued_at, run_at"
    calls = {wakeup.message(job.queue, job.priority) for job in jobs if job.run_at is None and not job.delay}
    if calls := {call for call in calls if wakeup.worth_sending(call)}:
        sql = TELLING.format(insert=sql)
        parameters |= {"channel": wakeup.CHANNEL, "calls": sorted(calls)}
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found = {row[0]: Enqueued._make(row) for row in cursor.fetchall()}
    return [found[job.id] for job in jobs]


def _insert_sqlite(
    connection: BaseDatabaseWrapper, rows: str, parameters: dict[str, Any], jobs: Sequence[NewJob]
) -> list[Enqueued]:
    sql = INSERT.format(now="%(now)s", latest="max", rows=rows)
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
    now = parameters["now"]
    queued_at = read_sqlite_time(now)
    return [
        Enqueued(job.id, queued_at, max(job.run_at or read_sqlite_time(sqlite_after(now, job.delay)), queued_at))
        for job in jobs
    ]
