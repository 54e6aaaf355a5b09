"""Whether anything may be due in one queue: one look into two indexes, whatever waits in the others."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import run_pinned
from jobs_app.lifecycle.database import is_postgres, now_parameter, now_sql

# Open, or before its gate: each has an index of its own.
DUE = """
SELECT EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold = '' AND run_at <= {now})
    OR EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold IN ('new', 'limit') AND run_at <= {now})
"""


def is_due(connection: BaseDatabaseWrapper, queue: str) -> bool:
    sql, given = DUE.format(now=now_sql(connection)), {"queue": queue, "now": now_parameter(connection)}
    if is_postgres(connection):
        return bool(run_pinned(connection, sql, given)[0][0])
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return bool(cursor.fetchone()[0])
