"""queued -> running: the one query every worker repeats, so the one written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import run_pinned
from jobs_app.lifecycle.database import (
    NOW,
    is_postgres,
    now_parameter,
    read_sqlite_time,
    sqlite_after,
    write_transaction,
)
from jobs_app.lifecycle.lanes import Start


class ClaimedJob(NamedTuple):
    """What a worker needs to run a job and to report about it."""

    id: UUID
    job_type: str
    queue: str
    priority: int
    run_at: datetime
    queued_at: datetime
    started_at: datetime
    subject: str
    attempts: int
    free_attempts: int
    max_attempts: int
    payload: str
    meta: str
    actor: str
    parent: UUID | None
    key: str | None
    slot_at: datetime | None
    cursor: str
    progress_count: int
    result_count: int
    target_count: int | None
    timeout_seconds: float | None  # asked for at the enqueue
    policy: str
    gate: int
    token: UUID  # proves whose claim it is

    @property
    def counted_attempts(self) -> int:
        """Attempts that count against the limit, this one among them."""
        return self.attempts - self.free_attempts


RETURNED = ", ".join(ClaimedJob._fields[:-1])  # whoever claims made the token, and has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who asks, and for what."""

    worker_id: str
    token: UUID
    job_types: Sequence[str]
    limit: int
    lease: float  # seconds
    leases: Mapping[str, float]  # for job types that want another one
    paused_subjects: Sequence[str] = ()
    retryable_only: bool = False  # claimed ahead: never what has a single attempt
    durable: bool = True  # False: a crash of the server may forget it


WRITE_AGAIN = "UPDATE jobs_app_job SET token = token WHERE id = ANY (%s)"

# A claim may take its time. The lease begins when it ends.
THIS_MOMENT = "coalesce(%(now)s::timestamptz, clock_timestamp())"
LEASE = f"""
{THIS_MOMENT} + make_interval(secs => coalesce((%(leases)s::jsonb ->> job_type)::float8, %(lease)s))
"""

# The rows are picked by ctid: written as a join, fresh statistics turn it into a hash join over the whole backlog.
# Lanes are read one after another, most urgent first, and the outer LIMIT stops at enough: no row more is locked.
# SKIP LOCKED lets claimers pass each other. UPDATE returns rows in heap order, so the caller sorts.
POSTGRES = f"""
UPDATE jobs_app_job
   SET state = 'running', worker_id = %(worker_id)s, token = %(token)s, attempts = attempts + 1,
       started_at = {NOW}, first_started_at = coalesce(first_started_at, {NOW}),
       lease_expires_at = {LEASE}
 WHERE ctid = ANY (ARRAY (
       SELECT picked.ctid
         FROM unnest(%(queues)s::text[], %(priorities)s::smallint[],
                     %(start_ats)s::timestamptz[], %(start_ids)s::uuid[]) AS lane (queue, priority, start_at, start_id)
        CROSS JOIN LATERAL (
              SELECT ctid FROM jobs_app_job
               WHERE state = 'queued' AND hold = '' AND queue = lane.queue AND priority = lane.priority
                 AND (run_at, id) >= (lane.start_at, lane.start_id) AND run_at <= {NOW}
                 AND job_type = ANY (%(job_types)s) AND (expires_at IS NULL OR expires_at > {NOW})
                 AND NOT (%(retryable_only)s AND max_attempts = 1) AND NOT subject = ANY (%(paused)s)
               ORDER BY run_at, id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED) AS picked
        LIMIT %(limit)s))
RETURNING {RETURNED}
"""

SQLITE = f"""
UPDATE jobs_app_job
   SET state = 'running', worker_id = %(worker_id)s, token = %(token)s, attempts = attempts + 1,
       started_at = %(now)s, first_started_at = coalesce(first_started_at, %(now)s),
       lease_expires_at = coalesce((SELECT value FROM json_each(%(untils)s) WHERE key = job_type), %(until)s)
 WHERE id IN (
       SELECT id FROM jobs_app_job
        WHERE state = 'queued' AND hold = '' AND queue = %(queue)s AND priority = %(priority)s AND run_at <= %(now)s
          AND job_type IN (SELECT value FROM json_each(%(job_types)s)) AND (expires_at IS NULL OR expires_at > %(now)s)
          AND NOT (%(retryable_only)s AND max_attempts = 1)
          AND subject NOT IN (SELECT value FROM json_each(%(paused)s))
        ORDER BY run_at, id LIMIT %(limit)s)
RETURNING {RETURNED}
"""


def claim(connection: BaseDatabaseWrapper, asked: Claim, starts: Sequence[Start]) -> list[ClaimedJob]:
    """Take up to `limit` due jobs from the lanes given, most urgent first."""
    if not starts or not asked.job_types:
        return []
    take = _claim_postgres if is_postgres(connection) else _claim_sqlite
    place = {(start.queue, start.priority): number for number, start in enumerate(starts)}
    jobs = take(connection, asked, starts)
    jobs.sort(key=lambda job: (place[job.queue, job.priority], job.run_at, job.id.int))
    return jobs


def make_durable(connection: BaseDatabaseWrapper, jobs: Iterable[ClaimedJob]) -> None:
    """Return when no crash of the server can forget the claim of these: a commit waits for those before it on the disk.

    It has to write something, or it waits for nothing.
    """
    if is_postgres(connection):
        with connection.cursor() as cursor:
            cursor.execute(WRITE_AGAIN, [[job.id for job in jobs]])


def claim_parameters(connection: BaseDatabaseWrapper, asked: Claim, starts: Sequence[Start]) -> dict[str, Any]:
    return {
        "now": now_parameter(connection),
        "worker_id": asked.worker_id,
        "token": asked.token,
        "lease": asked.lease,
        "leases": json.dumps(dict(asked.leases)) if asked.leases else None,
        "job_types": list(asked.job_types),
        "limit": asked.limit,
        "retryable_only": asked.retryable_only,
        "paused": list(asked.paused_subjects),
        "queues": [start.queue for start in starts],
        "priorities": [start.priority for start in starts],
        "start_ats": [start.run_at for start in starts],
        "start_ids": [start.id for start in starts],
    }


def _claim_postgres(connection: BaseDatabaseWrapper, asked: Claim, starts: Sequence[Start]) -> list[ClaimedJob]:
    parameters = claim_parameters(connection, asked, starts)
    rows = run_pinned(connection, POSTGRES, parameters, durable=asked.durable)
    return [ClaimedJob._make((*row, asked.token)) for row in rows]


def _claim_sqlite(connection: BaseDatabaseWrapper, asked: Claim, starts: Sequence[Start]) -> list[ClaimedJob]:
    claimed: list[ClaimedJob] = []
    with write_transaction(connection), connection.cursor() as cursor:
        now = now_parameter(connection)
        common = {
            "now": now,
            "until": sqlite_after(now, asked.lease),
            "untils": json.dumps({name: sqlite_after(now, lease) for name, lease in asked.leases.items()}),
            "worker_id": asked.worker_id,
            "token": asked.token.hex,
            "job_types": json.dumps(list(asked.job_types)),
            "retryable_only": asked.retryable_only,
            "paused": json.dumps(list(asked.paused_subjects)),
        }
        for start in starts:
            lane = {"queue": start.queue, "priority": start.priority, "limit": asked.limit - len(claimed)}
            cursor.execute(SQLITE, common | lane)
            claimed += [from_sqlite(row, asked.token) for row in cursor.fetchall()]
            if len(claimed) >= asked.limit:
                break
    return claimed


def from_sqlite(row: Sequence[Any], token: UUID) -> ClaimedJob:
    job = ClaimedJob._make((*row, token))
    return job._replace(
        id=UUID(row[0]),
        run_at=read_sqlite_time(job.run_at),
        queued_at=read_sqlite_time(job.queued_at),
        started_at=read_sqlite_time(job.started_at),
        parent=UUID(job.parent) if job.parent else None,  # type: ignore[arg-type]
        slot_at=None if job.slot_at is None else read_sqlite_time(job.slot_at),
    )
