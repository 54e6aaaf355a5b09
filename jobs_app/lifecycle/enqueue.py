"""(new) -> queued: one INSERT in the caller's transaction, with the wake-up riding in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import KeyTaken
from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.database import (
    NOW,
    is_postgres,
    jobs_connection,
    read_sqlite_time,
    sqlite_after,
    while_busy,
)
from jobs_app.lifecycle.holders import find_holders
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.new_job import ONE_WAITING, Enqueued, NewJob
from jobs_app.lifecycle.relation import relation
from jobs_app.registry import SYSTEM_QUEUE

ROWS_PER_STATEMENT = 2000
TRIES = 3
BYTES_PER_STATEMENT = 16 * 1024 * 1024  # of payloads; PostgreSQL and SQLite both end at a GB


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
    "gate": "int",
    "timeout_seconds": "float",
    "parent": "uuid",
    "slot_at": "time",
    "schedule": "int",
}
STORED = [name for name in COLUMNS if name not in ("run_at", "delay", "gate")]
# What operators set is read here and now, by one look each into a small table, so that no cache can be behind it:
# the limits of the queue, and whether the job type or the subject is paused.
QUEUE_GATE = """
coalesce((SELECT CASE WHEN max_running_per_key IS NOT NULL OR rate_per_key_count IS NOT NULL THEN 2
                      WHEN max_running IS NOT NULL OR rate_count IS NOT NULL OR ageing_seconds IS NOT NULL THEN 1
                      WHEN fair_share THEN 1 ELSE 0 END
            FROM jobs_app_queuestate WHERE name = new.queue), 0)
"""
IS_PAUSED = f"""
(new.queue <> '{SYSTEM_QUEUE}' AND (
 EXISTS (SELECT 1 FROM jobs_app_pause WHERE scope = 'job_type' AND name = new.job_type
            AND (until IS NULL OR until > {{now}}))
 OR new.subject <> '' AND EXISTS (SELECT 1 FROM jobs_app_pause WHERE scope = 'subject' AND name = new.subject
            AND (until IS NULL OR until > {{now}}))))
"""
INSERT = f"""
INSERT INTO jobs_app_job ({", ".join(STORED)}, state, queued_at, run_at, gate, hold)
SELECT {", ".join(STORED)}, 'queued', {{now}}, {{latest}}(coalesce(run_at, delay), {{now}}), full_gate,
       CASE WHEN is_paused THEN 'pause' ELSE {hold_by_gate("full_gate")} END
  FROM (SELECT new.*, {{latest}}(new.gate, {QUEUE_GATE}) AS full_gate, {IS_PAUSED} AS is_paused
          FROM ({{rows}}) AS new) AS ready WHERE true
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
    """Store what may be stored. Where a key lets no second job in, the first one is what the caller gets."""
    stored: dict[UUID, Enqueued] = {}
    refused = jobs
    for _ in range(TRIES):
        stored |= _store(connection, refused)
        if refused := [job for job in jobs if job.id not in stored]:
            stored |= find_holders(connection, refused)
            refused = [job for job in refused if job.id not in stored]  # the holder ended meanwhile
        if not refused:
            return [stored[job.id] for job in jobs]
    raise KeyTaken(f"the key of {refused[0].job_type!r} is held by a job that this transaction cannot see; try again")


def _store(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> dict[UUID, Enqueued]:
    in_order = sorted(jobs, key=lambda job: (job.queue, job.key or ""))  # as everything that takes several keys
    rows, parameters = relation(connection, COLUMNS, [[getattr(job, name) for name in COLUMNS] for job in in_order])
    if not is_postgres(connection):
        return _store_sqlite(connection, rows, parameters, jobs)
    insert = INSERT.format(now=NOW, latest="greatest", rows=rows)
    sql = f"{insert}{_unless_taken(jobs)} RETURNING id, queued_at, run_at"
    calls = {wakeup.message(job.queue, job.priority) for job in jobs if job.run_at is None and not job.delay}
    if calls := {call for call in calls if wakeup.worth_sending(call)}:
        sql = TELLING.format(insert=sql)
        parameters |= {"channel": wakeup.CHANNEL, "calls": sorted(calls)}
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        return {row[0]: Enqueued(*row) for row in cursor.fetchall()}


def _unless_taken(jobs: Sequence[NewJob]) -> str:
    return " ON CONFLICT DO NOTHING" if any(job.policy in ONE_WAITING for job in jobs) else ""


def _store_sqlite(
    connection: BaseDatabaseWrapper, rows: str, parameters: dict[str, Any], jobs: Sequence[NewJob]
) -> dict[UUID, Enqueued]:
    sql = INSERT.format(now="%(now)s", latest="max", rows=rows) + _unless_taken(jobs) + " RETURNING id"
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        stored = {row[0] for row in cursor.fetchall()}
    now = parameters["now"]
    queued_at = read_sqlite_time(now)
    due = {job.id: job.run_at or read_sqlite_time(sqlite_after(now, job.delay)) for job in jobs if job.id.hex in stored}
    return {run_id: Enqueued(run_id, queued_at, max(run_at, queued_at)) for run_id, run_at in due.items()}
