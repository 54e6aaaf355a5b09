"""The INSERT behind the enqueue of many jobs, and on SQLite of one as well.

What operators set is read by the statement itself, by one look each into a small table, so that no cache can be behind
it: the limits of the queue, and whether the job type or the subject is paused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.cursors import binding_cursor
from jobs_app.lifecycle.database import NOW, is_postgres, read_sqlite_time, read_uuid, while_busy
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.insert_one import insert_one
from jobs_app.lifecycle.new_job import NewJob, may_be_refused
from jobs_app.lifecycle.relation import relation
from jobs_app.registry import SYSTEM_QUEUE

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
    "follows": "bool",
}
COMPUTED = ("run_at", "delay", "gate", "follows")
STORED = [name for name in COLUMNS if name not in COMPUTED]
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
MANY = f"""
INSERT INTO jobs_app_job ({", ".join(STORED)}, state, queued_at, run_at, gate, hold)
SELECT {", ".join(STORED)}, 'queued', {{now}}, {{latest}}(coalesce(run_at, delay), {{now}}), full_gate,
       CASE WHEN is_paused THEN 'pause' WHEN follows THEN 'key' ELSE {hold_by_gate("full_gate")} END
  FROM (SELECT new.*, {{latest}}(new.gate, {QUEUE_GATE}) AS full_gate, {IS_PAUSED} AS is_paused
          FROM ({{rows}}) AS new) AS ready WHERE true
"""
# The wake-up is in the same statement: delivered at commit, rolled back with it. A NOTIFY of its own costs a third.
MANY_POSTGRES = f"""
WITH new AS ({{insert}} RETURNING id),
told AS MATERIALIZED (SELECT count(pg_notify(%(channel)s, call)) FROM unnest(%(calls)s::text[]) AS call)
SELECT {NOW}, {{ids}} FROM told
"""


class Stored(NamedTuple):
    queued_at: datetime
    ids: Collection[UUID] | None  # None: all of them

    def has(self, job: NewJob) -> bool:
        return self.ids is None or job.id in self.ids


NOTHING = Stored(datetime(1970, 1, 1, tzinfo=UTC), ())


def insert(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> Stored:
    """Store these, but for those whose key lets no second job in."""
    if not is_postgres(connection):
        return _insert_sqlite(connection, jobs)
    if len(jobs) == 1:
        moment = insert_one(connection, jobs[0])
        return NOTHING if moment is None else Stored(moment, None)
    return _insert_many(connection, jobs)


def _insert_many(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> Stored:
    rows, parameters = relation(connection, COLUMNS, jobs)
    statement, ids = MANY.format(now=NOW, latest="greatest", rows=rows), "NULL"
    if may_be_refused(jobs):
        statement, ids = f"{statement} ON CONFLICT DO NOTHING", "ARRAY (SELECT id FROM new)"
    parameters |= {"channel": wakeup.CHANNEL, "calls": wakeup.calls_for(jobs)}
    with binding_cursor(connection) as cursor:
        sql = MANY_POSTGRES.format(insert=statement, ids=ids)
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        return Stored(*cursor.fetchone())


def _insert_sqlite(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> Stored:
    rows, parameters = relation(connection, COLUMNS, jobs)
    sql = MANY.format(now="%(now)s", latest="max", rows=rows)
    is_picky = may_be_refused(jobs)
    if is_picky:
        sql += " ON CONFLICT DO NOTHING RETURNING id"
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        ids = {read_uuid(row[0]) for row in cursor.fetchall()} if is_picky else None
    return Stored(read_sqlite_time(parameters["now"]), ids)
