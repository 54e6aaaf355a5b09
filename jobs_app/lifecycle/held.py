"""A job in the hands of a worker that reports in single requests: locked for each, kept, and ended elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import first_row, is_postgres, now_parameter, now_sql
from jobs_app.models import Hold, Job, State

AS_TEXT = ("payload", "meta")


# By hand, since each report begins with it: the ORM takes longer to write it (1 ms) than PostgreSQL to answer.
LOCK = "SELECT *, {now} AS read_at FROM jobs_app_job WHERE id = %(id)s"
FOR_US = " FOR NO KEY UPDATE"
# A process that freezes in the middle must not keep the lock, which recovery passes by; nor must the others of a job
# whose sink hangs wait for it, each with a thread and a connection.
GUARD = """
SELECT set_config('idle_in_transaction_session_timeout', '30s', true), set_config('lock_timeout', '5s', true)
"""


def lock_job(connection: BaseDatabaseWrapper, run_id: UUID) -> Any:
    """The live job with this id, with `read_at`; None where there is none. Nobody else moves it in this transaction."""
    is_text = not is_postgres(connection)
    if not is_text:
        with connection.cursor() as cursor:
            cursor.execute(GUARD)
    sql = LOCK.format(now=now_sql(connection)) + ("" if is_text else FOR_US)
    given = {"now": now_parameter(connection), "id": run_id.hex if is_text else run_id}
    return first_row(connection, Job, sql, given)


def as_claimed(row: Job) -> ClaimedJob:
    """As whoever claimed it has it."""
    columns = {name: getattr(row, name) for name in ClaimedJob._fields}
    return ClaimedJob(**columns | {name: json.dumps(columns[name]) for name in AS_TEXT})


def keep(connection: BaseDatabaseWrapper, row: Job, until: datetime, words: Mapping[str, Any]) -> datetime | None:
    """Store what a report says and let the lease last until then, or longer if it does already; when it ends.

    A job that was given back because its worker was silent, and that nobody took since, is that worker's again. Unless
    it waits before a gate: somebody else may have been let in by now. Then there is no lease, and what is said is kept.
    """
    changes = dict(words)
    lease = row.lease_expires_at
    if row.state == State.RUNNING or row.hold == Hold.OPEN:
        lease = until if lease is None else max(lease, until)
        changes |= {"state": State.RUNNING, "lease_expires_at": lease}
    Job.objects.using(connection.alias).filter(pk=row.pk, token=row.token).update(**changes)
    return lease
