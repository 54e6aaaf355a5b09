"""new -> key, for jobs whose key another one has: the database alone does it, a thousand at a time.

Most of what comes due with a busy key is of this kind. Read into Python, decided there and written back, each took
40 us; this takes 9 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import bulk_cursor
from jobs_app.lifecycle.database import NOW, is_postgres, now_parameter

# Whoever has the key is locked until this commits, so that its end comes later and sees who waits. One that is just
# ending is passed, and so are those who want its key: they stay new, and are looked at again. Nothing here waits.
# In the list of columns IN is answered from a hash table; as a condition it would be a join, key by key.
TURN_AWAY = f"""
WITH due AS MATERIALIZED (
  SELECT next.id, next.key, next.policy
    FROM unnest(%(types)s::text[], %(priorities)s::smallint[]) AS lane (type, priority)
   CROSS JOIN LATERAL (
         SELECT id, key, policy FROM jobs_app_job
          WHERE state = 'queued' AND hold IN ('new', 'limit') AND queue = %(queue)s AND hold = 'new'
            AND job_type = lane.type AND priority = lane.priority AND run_at <= {NOW}
            AND (expires_at IS NULL OR expires_at > {NOW}) AND NOT subject = ANY (%(paused)s)
          ORDER BY run_at, id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED) AS next
   LIMIT %(limit)s),
alone AS MATERIALIZED (
  SELECT id, key FROM due WHERE key IS NOT NULL AND policy IN ('singleton', 'exclusive', 'stately')),
taken AS MATERIALIZED (
  SELECT wanted.key FROM (SELECT DISTINCT key FROM alone) AS wanted CROSS JOIN LATERAL (
         SELECT 1 FROM jobs_app_job AS job
          WHERE job.queue = %(queue)s AND job.key = wanted.key AND job.gate = 2 AND job.hold IN ('', 'limit')
            AND job.policy IN ('singleton', 'exclusive', 'stately') FOR SHARE SKIP LOCKED) AS owner)
UPDATE jobs_app_job SET hold = 'key' WHERE id = ANY (ARRAY (
       SELECT id FROM (SELECT id, key IN (SELECT key FROM taken) AS is_taken FROM alone) AS each WHERE is_taken))
"""


def turn_away(
    connection: BaseDatabaseWrapper,
    queue: str,
    lanes: Sequence[tuple[str, int]],
    *,
    paused_subjects: Sequence[str],
    limit: int,
) -> int:
    """Look at so many that are due in these lanes, and let those wait whose key is taken; how many.

    On SQLite none: admission decides about each there.
    """
    if not is_postgres(connection):
        return 0
    parameters = {
        "queue": queue,
        "types": [job_type for job_type, _ in lanes],
        "priorities": [priority for _, priority in lanes],
        "paused": list(paused_subjects),
        "limit": limit,
        "now": now_parameter(connection),
    }
    with bulk_cursor(connection, psycopg.ClientCursor) as cursor:
        cursor.execute(TURN_AWAY, parameters)
        return int(cursor.rowcount)
