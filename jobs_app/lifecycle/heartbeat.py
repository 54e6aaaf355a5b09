"""Keeping what is held: longer leases for what runs, progress, and the news that a job was asked to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import NOW, is_data_at_fault, is_postgres, pinned_transaction
from jobs_app.lifecycle.relation import relation


class Held(NamedTuple):
    id: UUID
    token: UUID
    lease: float  # seconds from now


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


# A lease is never shortened. A job whose row does not come back is not ours any more.
OURS = "job.id = held.id AND job.token = held.token AND job.state = 'running'"
# A row that somebody is just writing is passed and extended by the next beat: waiting for it, in the handler's own
# transaction perhaps, would let the leases of all the others run out.
POSTGRES_EXTEND = f"""
WITH held AS ({{rows}}),
ours AS MATERIALIZED (SELECT job.id, job.cancel_requested FROM held JOIN jobs_app_job AS job ON {OURS}),
free AS MATERIALIZED (
  SELECT job.id, held.until FROM held JOIN jobs_app_job AS job ON {OURS} FOR NO KEY UPDATE OF job SKIP LOCKED),
extended AS (
  UPDATE jobs_app_job AS job SET lease_expires_at = greatest(job.lease_expires_at, free.until)
    FROM free WHERE job.id = free.id)
SELECT id, cancel_requested FROM ours
"""
SQLITE_EXTEND = f"""
UPDATE jobs_app_job AS job SET lease_expires_at = max(lease_expires_at, held.until) FROM ({{rows}}) AS held WHERE {OURS}
RETURNING id, cancel_requested
"""
SAVE = """
UPDATE jobs_app_job AS job
   SET cursor = given.new_cursor, progress_count = given.new_progress_count, result_count = given.new_result_count,
       target_count = given.new_target_count, progress_message = given.new_message,
       meta = coalesce(given.new_meta, job.meta), last_progress_at = {now}
  FROM ({rows}) AS given WHERE job.id = given.id AND job.token = given.token
"""
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


def extend(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, bool]:
    """Renew the leases; for each job that is still ours, whether it was asked to stop."""
    if not held:
        return {}
    rows, parameters = relation(connection, {"id": "uuid", "token": "uuid", "until": "after"}, held)
    sql = (POSTGRES_EXTEND if is_postgres(connection) else SQLITE_EXTEND).format(rows=rows)
    return {
        run_id if isinstance(run_id, UUID) else UUID(run_id): bool(asked)
        for run_id, asked in _execute(connection, sql, parameters)
    }


def save_progress(connection: BaseDatabaseWrapper, reports: Sequence[Progress]) -> None:
    """Store the newest words. One that cannot be stored is dropped alone: it must cost no other job its lease."""
    if not reports:
        return
    in_order = sorted(reports, key=lambda report: report.id)
    rows, parameters = relation(connection, PROGRESS_COLUMNS, in_order)
    now = NOW if is_postgres(connection) else "%(now)s"
    try:
        _execute(connection, SAVE.format(rows=rows, now=now), parameters)
    except (DatabaseError, ValueError, TypeError, OverflowError) as error:
        if not is_data_at_fault(error):
            raise
        middle = len(reports) // 2
        if middle:
            save_progress(connection, reports[:middle])
            save_progress(connection, reports[middle:])


def _execute(connection: BaseDatabaseWrapper, sql: str, parameters: dict[str, Any]) -> list[Any]:
    with pinned_transaction(connection), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []
