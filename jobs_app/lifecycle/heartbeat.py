"""Keeping what is held: longer leases for what runs, progress, and the news that a job was asked to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import NOW, is_postgres, while_busy
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
EXTEND = """
UPDATE jobs_app_job AS job SET lease_expires_at = {latest}(lease_expires_at, held.until)
  FROM ({rows}) AS held WHERE job.id = held.id AND job.token = held.token AND job.state = 'running'
RETURNING {job}id, {job}cancel_requested
"""
SAVE = """
UPDATE jobs_app_job AS job
   SET cursor = given.new_cursor, progress_count = given.new_progress_count, result_count = given.new_result_count,
       target_count = given.new_target_count, progress_message = given.new_message,
       meta = coalesce(given.new_meta, job.meta), last_progress_at = {now}
  FROM ({rows}) AS given WHERE job.id = given.id AND job.token = given.token
"""


def extend(connection: BaseDatabaseWrapper, held: Sequence[Held]) -> dict[UUID, bool]:
    """Renew the leases; for each job that is still ours, whether it was asked to stop."""
    if not held:
        return {}
    rows, parameters = relation(connection, {"id": "uuid", "token": "uuid", "until": "after"}, held)
    postgres = is_postgres(connection)
    # SQLite's RETURNING knows the table's columns only by their bare names.
    sql = EXTEND.format(rows=rows, latest="greatest" if postgres else "max", job="job." if postgres else "")
    return {
        run_id if isinstance(run_id, UUID) else UUID(run_id): bool(asked)
        for run_id, asked in _execute(connection, sql, parameters)
    }


def save_progress(connection: BaseDatabaseWrapper, reports: Sequence[Progress]) -> None:
    if not reports:
        return
    columns = {
        "id": "uuid",
        "token": "uuid",
        "new_cursor": "text",
        "new_progress_count": "int",
        "new_result_count": "int",
        "new_target_count": "int",
        "new_message": "text",
        "new_meta": "json",
    }
    rows, parameters = relation(connection, columns, reports)
    now = NOW if is_postgres(connection) else "%(now)s"
    _execute(connection, SAVE.format(rows=rows, now=now), parameters)


def _execute(connection: BaseDatabaseWrapper, sql: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        return cursor.fetchall() if cursor.description else []
