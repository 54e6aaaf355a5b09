"""Who has a key, and who is next: what happens to the jobs that share one when another ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres
from jobs_app.lifecycle.relation import relation


class Key(NamedTuple):
    """Jobs of one queue share a key, whatever their type."""

    queue: str
    key: str


# The most urgent of each job type that waits for each key, by a loose index scan over the types: one that nobody serves
# any more must not hide the others. They are only looked at again: which of them may start, admission decides.
_WAITS = "waiting.queue = lane.queue AND waiting.key = lane.key AND waiting.state = 'queued' AND waiting.hold = 'key'"
_TYPE = f"SELECT waiting.job_type FROM jobs_app_job AS waiting WHERE {_WAITS}"
_IN_ORDER = "ORDER BY waiting.job_type LIMIT 1"
_TYPES = f"""
WITH RECURSIVE each (queue, key, job_type) AS (
  SELECT queue, key, ({_TYPE} {_IN_ORDER}) FROM ({{rows}}) AS lane
  UNION ALL
  SELECT queue, key, ({_TYPE} AND waiting.job_type > lane.job_type {_IN_ORDER}) FROM each AS lane
   WHERE lane.job_type IS NOT NULL)
"""
_FIRST = f"""
SELECT waiting.id FROM jobs_app_job AS waiting WHERE {_WAITS} AND waiting.job_type = lane.job_type
 ORDER BY waiting.priority DESC, waiting.run_at, waiting.id LIMIT 1
"""
NEXT = f"{_TYPES} SELECT ({_FIRST}) FROM each AS lane WHERE lane.job_type IS NOT NULL"
# Never waits: it comes last in transactions that have locked other jobs. Whoever is just being written by somebody else
# is passed, and the one after it is woken.
POSTGRES = f"""
UPDATE jobs_app_job SET hold = 'new' WHERE id = ANY (ARRAY (
{_TYPES} SELECT first.id FROM each AS lane CROSS JOIN LATERAL ({_FIRST} FOR NO KEY UPDATE SKIP LOCKED) AS first))
"""
SQLITE = f"UPDATE jobs_app_job SET hold = 'new' WHERE id IN ({NEXT})"


def wake_next(connection: BaseDatabaseWrapper, freed: Iterable[Key]) -> None:
    """Let admission look again at the next of each key, in the transaction that freed it.

    Admission locks the jobs that have a key before it sends another one to wait, so that either it sees the key freed,
    or we, who come later, see who waits.
    """
    keys = sorted(set(freed))
    if not keys:
        return
    rows, parameters = relation(connection, {"queue": "text", "key": "text"}, keys)
    sql = POSTGRES if is_postgres(connection) else SQLITE
    with connection.cursor() as cursor:
        cursor.execute(sql.format(rows=rows), parameters)
