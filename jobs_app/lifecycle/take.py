"""queued -> running for a job that is known by its id: the claim of whoever runs this one and no other."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.claim import RETURNED, ClaimedJob, from_sqlite
from jobs_app.lifecycle.database import NOW, is_postgres, now_parameter, sqlite_after, write_transaction

# The conditions of the claim by lanes. On PostgreSQL it waits for a claim that is under way, and then finds nothing.
TAKE = f"""
UPDATE jobs_app_job
   SET state = 'running', worker_id = %(worker_id)s, token = %(token)s, attempts = attempts + 1,
       started_at = {{now}}, first_started_at = coalesce(first_started_at, {{now}}), lease_expires_at = {{until}}
 WHERE id = %(id)s AND state = 'queued' AND hold = '' AND run_at <= {{now}}
   AND (expires_at IS NULL OR expires_at > {{now}})
RETURNING {RETURNED}
"""
POSTGRES = TAKE.format(now=NOW, until=f"{NOW} + make_interval(secs => %(lease)s)")
SQLITE = TAKE.format(now="%(now)s", until="%(until)s")


def take(connection: BaseDatabaseWrapper, run_id: UUID, *, worker_id: str, lease: float) -> ClaimedJob | None:
    """The job, ours for `lease` seconds from now; None if it is not due, is held, or waits no more."""
    now = now_parameter(connection)
    token = uuid4()
    given: dict[str, Any] = {"id": run_id, "token": token, "worker_id": worker_id, "now": now, "lease": lease}
    if is_postgres(connection):
        row = _first(connection, POSTGRES, given)
        return None if row is None else ClaimedJob._make((*row, token))
    given |= {"id": run_id.hex, "token": token.hex, "until": sqlite_after(now, lease)}
    row = _first(connection, SQLITE, given)
    return None if row is None else from_sqlite(row, token)


def _first(connection: BaseDatabaseWrapper, sql: str, parameters: dict[str, Any]) -> tuple[Any, ...] | None:
    with write_transaction(connection), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()
