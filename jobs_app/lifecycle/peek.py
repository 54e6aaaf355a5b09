"""Whether anything may be due in one queue, or became due in some: looks into indexes, whatever waits there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import run_pinned
from jobs_app.lifecycle.database import NOW, is_postgres, now_parameter, now_sql, sqlite_after, sqlite_time
from jobs_app.lifecycle.relation import relation

# Open, or before its gate: each has an index of its own.
DUE = """
SELECT EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold = '' AND run_at <= {moment})
    OR EXISTS (SELECT 1 FROM jobs_app_job
                WHERE queue = %(queue)s AND state = 'queued' AND hold IN ('new', 'limit') AND run_at <= {moment})
"""

# By lane, since only so the index leads to the moments: rows due later, or long ago, are not read.
NEWLY_DUE = """
SELECT DISTINCT lane.queue FROM ({lanes}) AS lane
 WHERE EXISTS (SELECT 1 FROM jobs_app_job AS job
                WHERE job.queue = lane.queue AND job.priority = lane.priority AND state = 'queued' AND hold = ''
                  AND run_at > %(since)s AND run_at <= {now})
"""


def newly_due(connection: BaseDatabaseWrapper, lanes: Sequence[tuple[str, int]], since: datetime) -> set[str]:
    """The queues of those lanes in which something became due after `since`. What waits for longer was there when
    whoever waits began to: everything that may be claimed anew is due from then on."""
    if not lanes:
        return set()
    rows, parameters = relation(connection, {"queue": "text", "priority": "int"}, lanes)
    parameters["since"] = since if is_postgres(connection) else sqlite_time(since)
    with connection.cursor() as cursor:
        cursor.execute(NEWLY_DUE.format(lanes=rows, now=now_sql(connection)), parameters)
        return {row[0] for row in cursor.fetchall()}


def is_due(connection: BaseDatabaseWrapper, queue: str, *, for_seconds: float = 0.0) -> bool:
    """Now, or for so long already."""
    given = {"queue": queue, "now": now_parameter(connection)}
    if is_postgres(connection):
        sql = DUE.format(moment=f"{NOW} - make_interval(secs => %(seconds)s)")
        return bool(run_pinned(connection, sql, given | {"seconds": for_seconds})[0][0])
    with connection.cursor() as cursor:
        cursor.execute(DUE.format(moment="%(moment)s"), given | {"moment": sqlite_after(given["now"], -for_seconds)})
        return bool(cursor.fetchone()[0])
