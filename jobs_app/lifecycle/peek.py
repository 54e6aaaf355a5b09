"""Whether anything may be due in one queue: one look into two indexes, whatever waits in the others."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import run_pinned
from jobs_app.lifecycle.database import NOW, is_postgres, now_parameter, sqlite_after

# Open, or before its gate: each has an index of its own.
DUE = """
SELECT EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold = '' AND run_at <= {moment})
    OR EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold IN ('new', 'limit') AND run_at <= {moment})
"""


def is_due(connection: BaseDatabaseWrapper, queue: str, *, for_seconds: float = 0.0) -> bool:
    """Now, or for so long already."""
    given = {"queue": queue, "now": now_parameter(connection)}
    if is_postgres(connection):
        sql = DUE.format(moment=f"{NOW} - make_interval(secs => %(seconds)s)")
        return bool(run_pinned(connection, sql, given | {"seconds": for_seconds})[0][0])
    with connection.cursor() as cursor:
        cursor.execute(DUE.format(moment="%(moment)s"), given | {"moment": sqlite_after(given["now"], -for_seconds)})
        return bool(cursor.fetchone()[0])
