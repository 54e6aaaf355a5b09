"""Keeping what is held: longer leases for what runs, progress, and the news that a job was asked to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import (
    NOW,
    is_data_at_fault,
    is_postgres,
    now_parameter,
    now_sql,
    pinned_transaction,
    read_uuid,
    write_transaction,
)
from jobs_app.lifecycle.relation import relation, same


class Held(NamedTuple):
    id: UUID
    token: UUID
    lease: float  # seconds from now


class Asked(NamedTuple):
    """What somebody wants of a job that runs."""

    cancel: bool  # it should stop by itself
    abort: bool  # it is to be stopped by force


class Progress(NamedTuple):
    """The newest word of a running job about how far it is."""

    id: UUID
    token: UUID
    cursor: str
    progress_count: int
    result_count: int
    target_count: int | None
    message: str
    meta: str | None = None  # JSON text; None: as it was


NEWS = "id, cancel_requested, abort_requested"

# A lease is never shortened. A job whose row does not come back is not ours any more.
# A row that somebody is just writing is passed and extended by the next beat: waiting for it, in the handler's own
# transaction perhaps, would let the leases of all the others run out. Rows are found by arrays and updated by ctid:
# a join reads the whole backlog where statistics are stale, or the square of what is held where the plan is pinned.
OURS = "id = ANY (%(ids)s) AND id || ' ' || token = ANY (%(pairs)s) AND state = 'running'"
POSTGRES_EXTEND = f"""
WITH ours AS MATERIALIZED (SELECT {NEWS} FROM jobs_app_job WHERE {OURS}),
extended AS (
  UPDATE jobs_app_job SET lease_expires_at = greatest(lease_expires_at, {NOW} + make_interval(secs => %(lease)s))
   WHERE ctid = ANY (ARRAY (SELECT ctid FROM jobs_app_job WHERE {OURS} FOR NO KEY UPDATE SKIP LOCKED)))
SELECT {NEWS} FROM ours
"""
SQLITE_EXTEND = f"""
UPDATE jobs_app_job AS job SET lease_expires_at = max(lease_expires_at, held.until) FROM ({{rows}}) AS held
 WHERE job.id = held.id AND job.token = held.token AND job.state = 'running'
RETURNING {NEWS}
"""
STOPPED = "(cancel_requested OR abort_requested)"
POSTGRES_ASK = f"SELECT {NEWS} FROM jobs_app_job WHERE {OURS} AND {STOPPED}"
SQLITE_ASK = f"""
SELECT job.{NEWS} FROM ({{rows}}) AS held CROSS JOIN jobs_app_job AS job
 WHERE job.id = held.id AND job.token = held.token AND job.state = 'running' AND {STOPPED}
"""
SAVE = """
UPDATE jobs_app_job AS job
   SET cursor = given.new_cursor, progress_count = given.new_progress_count, result_count = given.new_result_count,
       target_count = given.new_target_count, progress_message = given.new_message,
       meta = coalesce(given.new_meta, job.meta), last_progress_at = {now}
  FROM ({rows}) AS given WHERE {by_id} AND job.token = given.token
"""
HELD_COLUMNS = {"id": "uuid", "token": "uuid", "until": "after"}
PROGRESS_COLUMNS = {
    "id": "uuid",
    "token": "uuid",
    "new_cursor": "text",
    "new_progress_count": "int",
    "new_result_count": "int",
    "new_target_count": "int",
    "new_message": "text",
    "new_meta": "json",
}


def extend(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, Asked]:
    """Renew the leases; for each job that is still ours, what is asked of it."""
    if not held:
        return {}
    return (_extend_postgres if is_postgres(connection) else _extend_sqlite)(connection, held)


def asked_to_stop(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, Asked]:
    """Which of these were asked to stop. It only reads, so it may be asked more often than leases are renewed."""
    if not held:
        return {}
    if is_postgres(connection):
        with pinned_transaction(connection), connection.cursor() as cursor:
            cursor.execute(POSTGRES_ASK, _ids_and_pairs(held))
            return _news(cursor.fetchall())
    rows, parameters = relation(connection, HELD_COLUMNS, held)
    with connection.cursor() as cursor:
        cursor.execute(SQLITE_ASK.format(rows=rows), parameters)
        return _news(cursor.fetchall())


def save_progress(connection: BaseDatabaseWrapper, reports: Sequence[Progress]) -> None:
    """Store the newest words. One that cannot be stored is dropped alone: it must cost no other job its lease."""
    if not reports:
        return
    try:
        _save(connection, sorted(reports, key=lambda report: report.id))
    except (DatabaseError, ValueError, TypeError, OverflowError) as error:
        if not is_data_at_fault(error):
            raise
        middle = len(reports) // 2
        if middle:
            save_progress(connection, reports[:middle])
            save_progress(connection, reports[middle:])


def _extend_postgres(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, Asked]:
    """One statement for each length of lease: most workers have one."""
    ours: dict[UUID, Asked] = {}
    for lease in {one.lease for one in held}:
        alike = [one for one in held if one.lease == lease]
        parameters = {"now": now_parameter(connection), "lease": lease, **_ids_and_pairs(alike)}
        with pinned_transaction(connection), connection.cursor() as cursor:
            cursor.execute(POSTGRES_EXTEND, parameters)
            ours |= _news(cursor.fetchall())
    return ours


def _extend_sqlite(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, Asked]:
    rows, parameters = relation(connection, HELD_COLUMNS, held)
    with write_transaction(connection), connection.cursor() as cursor:
        cursor.execute(SQLITE_EXTEND.format(rows=rows), parameters)
        return _news(cursor.fetchall())


def _ids_and_pairs(held: Sequence[Held]) -> dict[str, Any]:
    return {"ids": [one.id for one in held], "pairs": [f"{one.id} {one.token}" for one in held]}


def _news(rows: Iterable[Sequence[Any]]) -> dict[UUID, Asked]:
    return {read_uuid(run_id): Asked(bool(cancel), bool(abort)) for run_id, cancel, abort in rows}


def _save(connection: BaseDatabaseWrapper, reports: Sequence[Progress]) -> None:
    rows, parameters = relation(connection, PROGRESS_COLUMNS, reports)
    sql = SAVE.format(rows=rows, now=now_sql(connection), by_id=same(connection, "job.id", "given.id"))
    with pinned_transaction(connection), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
