"""The INSERT behind every enqueue: one of many rows, and on PostgreSQL a shorter one for a single row.

What operators set is read by the statement itself, by one look each into a small table, so that no cache can be behind
it: the limits of the queue, and whether the job type or the subject is paused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.cursors import binding_cursor
from jobs_app.lifecycle.database import NOW, frozen_moment, is_postgres, read_sqlite_time, read_uuid, while_busy
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.new_job import NewJob, may_be_refused
from jobs_app.lifecycle.relation import POSTGRES_TYPES, relation
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
}
COMPUTED = ("run_at", "delay", "gate")
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
       CASE WHEN is_paused THEN 'pause' ELSE {hold_by_gate("full_gate")} END
  FROM (SELECT new.*, {{latest}}(new.gate, {QUEUE_GATE}) AS full_gate, {IS_PAUSED} AS is_paused
          FROM ({{rows}}) AS new) AS ready WHERE true
"""
# The wake-up is in the same statement: delivered at commit, rolled back with it. A NOTIFY of its own costs a third.
MANY_POSTGRES = f"""
WITH new AS ({{insert}} RETURNING id),
told AS MATERIALIZED (SELECT count(pg_notify(%(channel)s, call)) FROM unnest(%(calls)s::text[]) AS call)
SELECT {NOW}, {{ids}} FROM told
"""
# The same rules as functions of the database: it plans what is in them once per connection. Planned each time, and
# as a SELECT, they made an enqueue take 1,385 us; this one takes 520, and a bare INSERT of these columns 450.
ONE = """
INSERT INTO jobs_app_job ({columns}, state, queued_at, run_at, gate, hold)
VALUES ({values}, 'queued', {now}, {run_at}, jobs_app_gate({queue}, {gate}),
        jobs_app_hold({queue}, {job_type}, {subject}, {gate}, {now}))
{unless_taken} RETURNING queued_at{telling}
"""
ALWAYS = ("id", "job_type", "queue", "priority", "max_attempts", "payload", "meta")
DEFAULTS = [NewJob._field_defaults.get(name) for name in COLUMNS]


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
        return _insert_one(connection, jobs[0])
    return _insert_many(connection, jobs)


def _calls(jobs: Sequence[NewJob]) -> list[str]:
    lanes = {(job.queue, job.priority) for job in jobs if job.run_at is None and not job.delay}
    return sorted(call for call in (wakeup.message(*lane) for lane in lanes) if wakeup.worth_sending(call))


def _insert_many(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> Stored:
    rows, parameters = relation(connection, COLUMNS, jobs)
    statement, ids = MANY.format(now=NOW, latest="greatest", rows=rows), "NULL"
    if may_be_refused(jobs):
        statement, ids = f"{statement} ON CONFLICT DO NOTHING", "ARRAY (SELECT id FROM new)"
    parameters |= {"channel": wakeup.CHANNEL, "calls": _calls(jobs)}
    with binding_cursor(connection) as cursor:
        sql = MANY_POSTGRES.format(insert=statement, ids=ids)
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        return Stored(*cursor.fetchone())


def _insert_one(connection: BaseDatabaseWrapper, job: NewJob) -> Stored:
    given = {name: value for name, value, usual in zip(COLUMNS, job, DEFAULTS, strict=True) if value != usual}
    parameters: dict[str, Any] = {"meta": job.meta, **given, "now": frozen_moment()}
    calls = _calls([job])
    if calls:
        parameters["call"] = calls[0]
    columns = tuple(name for name in COLUMNS if name in given or name in ALWAYS)
    sql = _one(columns, parameters["now"] is not None, may_be_refused([job]), bool(calls))
    with binding_cursor(connection) as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        row = cursor.fetchone()
    return Stored(row[0], None) if row else NOTHING


@lru_cache(maxsize=256)
def _one(columns: tuple[str, ...], is_frozen: bool, is_picky: bool, is_telling: bool) -> str:
    """The statement for a job that sets these columns."""
    values = {name: f"%({name})s::{POSTGRES_TYPES[COLUMNS[name]]}" for name in columns}
    stored = [name for name in columns if name not in COMPUTED]
    now = "%(now)s::timestamptz" if is_frozen else "statement_timestamp()"
    run_at = now
    if "run_at" in values:
        run_at = f"greatest({values['run_at']}, {now})"
    elif "delay" in values:
        run_at = f"greatest({now} + make_interval(secs => {values['delay']}), {now})"
    return ONE.format(
        columns=", ".join(stored),
        values=", ".join(values[name] for name in stored),
        now=now,
        run_at=run_at,
        queue=values["queue"],
        job_type=values["job_type"],
        subject=values.get("subject", "''"),
        gate=values.get("gate", "0"),
        unless_taken="ON CONFLICT DO NOTHING" if is_picky else "",
        telling=f", pg_notify('{wakeup.CHANNEL}', %(call)s)" if is_telling else "",
    )


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
