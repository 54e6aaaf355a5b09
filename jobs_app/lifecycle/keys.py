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
WAITS = "waiting.queue = lane.queue AND waiting.key = lane.key AND waiting.state = 'queued' AND waiting.hold = 'key'"
_TYPE = f"SELECT waiting.job_type FROM jobs_app_job AS waiting WHERE {WAITS}"
_IN_ORDER = "ORDER BY waiting.job_type LIMIT 1"
_TYPES = f"""
WITH RECURSIVE each (queue, key, job_type) AS (
  SELECT queue, key, ({_TYPE} {_IN_ORDER}) FROM ({{rows}}) AS lane
  UNION ALL
  SELECT queue, key, ({_TYPE} AND waiting.job_type > lane.job_type {_IN_ORDER}) FROM each AS lane
   WHERE lane.job_type IS NOT NULL)
"""
_FIRST = f"""
SELECT waiting.* FROM jobs_app_job AS waiting WHERE {WAITS} AND waiting.job_type = lane.job_type
 ORDER BY waiting.priority DESC, waiting.run_at, waiting.id LIMIT 1
"""
# Key by key: a condition on ids would read all who wait (measured, 3 ms for a dozen keys). Never waits: it comes last
# in transactions that have locked other jobs. Whoever is just being written by somebody else is passed, and the one
# after it is found.
FIRST_POSTGRES = f"""
{_TYPES} SELECT {{columns}} FROM each AS lane CROSS JOIN LATERAL ({_FIRST} FOR NO KEY UPDATE SKIP LOCKED) AS first
"""
FIRST_SQLITE = f"""
SELECT {{columns}} FROM jobs_app_job AS first WHERE id IN (
{_TYPES} SELECT (SELECT id FROM ({_FIRST})) FROM each AS lane WHERE lane.job_type IS NOT NULL)
"""
_IDS = {"columns": "first.id", "rows": "{rows}"}
WAKE_POSTGRES = f"UPDATE jobs_app_job SET hold = 'new' WHERE id = ANY (ARRAY ({FIRST_POSTGRES.format(**_IDS)}))"
WAKE_SQLITE = f"UPDATE jobs_app_job SET hold = 'new' WHERE id IN ({FIRST_SQLITE.format(**_IDS)})"


def wake_next(connection: BaseDatabaseWrapper, freed: Iterable[Key]) -> None:
    """Let admission look again at the next of each key, in the transaction that freed it.

    Admission locks the jobs that have a key before it sends another one to wait, so that either it sees the key freed,
    or we, who come later, see who waits.
    """
    keys = sorted(set(freed))
    if not keys:
        return
    rows, parameters = relation(connection, {"queue": "text", "key": "text"}, keys)
    sql = WAKE_POSTGRES if is_postgres(connection) else WAKE_SQLITE
    with connection.cursor() as cursor:
        cursor.execute(sql.format(rows=rows), parameters)
