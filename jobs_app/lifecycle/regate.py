"""running -> queued, as if never claimed: for a job that was stored before its limits were set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres, pinned_transaction, read_uuid
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.relation import relation, same


class Misplaced(NamedTuple):
    id: UUID
    token: UUID
    gate: int  # the one it must pass


# Nothing has run, so the attempt is taken back and its number is given to the next claim. Who finds its place in the
# queue taken stays with whoever claimed it.
PUT_BACK = f"""
UPDATE jobs_app_job AS job
   SET state = 'queued', gate = given.new_gate, hold = {hold_by_gate("given.new_gate")},
       attempts = attempts - 1, token = NULL, lease_expires_at = NULL, worker_id = '',
       started_at = CASE WHEN attempts > 1 THEN started_at END,
       first_started_at = CASE WHEN attempts > 1 THEN first_started_at END
  FROM ({{rows}}) AS given WHERE {{by_id}} AND job.token = given.claim AND job.state = 'running'
   AND NOT (job.policy IN ('short', 'stately') AND EXISTS (
            SELECT 1 FROM jobs_app_job AS other WHERE other.queue = job.queue AND other.key = job.key
               AND other.policy IN ('short', 'stately') AND other.state = 'queued'))
RETURNING {{job}}id
"""
COLUMNS = {"id": "uuid", "claim": "uuid", "new_gate": "int"}


def put_back(connection: BaseDatabaseWrapper, misplaced: Sequence[Misplaced]) -> set[UUID]:
    """Send claimed jobs that have not started through the gate which their rules ask for by now; those that went."""
    if not misplaced:
        return set()
    rows, parameters = relation(connection, COLUMNS, sorted(misplaced))
    with pinned_transaction(connection), connection.cursor() as cursor:
        by_id = same(connection, "job.id", "given.id")
        sql = PUT_BACK.format(rows=rows, by_id=by_id, job="job." if is_postgres(connection) else "")
        cursor.execute(sql, parameters)
        return {read_uuid(row[0]) for row in cursor.fetchall()}
