"""Reading the jobs that wait before a gate, in index order, whatever waits beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.cursors import bulk_cursor, run_pinned
from jobs_app.lifecycle.database import is_postgres, now_parameter, now_sql, read_sqlite_time, read_uuid
from jobs_app.lifecycle.keys import FIRST_POSTGRES, FIRST_SQLITE
from jobs_app.lifecycle.loose_scans import each_lane, each_value
from jobs_app.lifecycle.relation import relation


class Gated(NamedTuple):
    """What admission must know about a job."""

    id: UUID
    hold: str
    job_type: str
    subject: str
    key: str | None
    policy: str
    priority: int
    run_at: datetime

    @property
    def urgency(self) -> tuple[int, datetime, UUID]:
        return -self.priority, self.run_at, self.id


class Owner(NamedTuple):
    """A job that has passed the gate of its key and has not ended."""

    id: UUID
    key: str
    job_type: str
    policy: str
    hold: str


_AT_GATE = "state = 'queued' AND hold IN ('new', 'limit')"
_IN_QUEUE = f"{_AT_GATE} AND queue = %(queue)s AND hold = %(hold)s"
QUEUES = each_value("queue", _AT_GATE)
LANES_POSTGRES = each_lane("job_type", _IN_QUEUE)
# SQLite skips through the index by itself.
LANES_SQLITE = f"SELECT job_type, priority FROM jobs_app_job WHERE {_IN_QUEUE} GROUP BY job_type, priority"
SUBJECTS = (
    each_value("subject", "state = 'queued' AND hold = 'limit' AND queue = %(queue)s AND subject >= %(start)s")
    + "LIMIT %(limit)s"
)
_SELECT = f"SELECT {', '.join(Gated._fields)} FROM jobs_app_job"
_FIRST_COLUMNS = ", ".join(f"first.{name}" for name in Gated._fields)
IN_LANE = f"""
{_SELECT} WHERE {_AT_GATE} AND queue = %(queue)s AND hold = %(hold)s AND job_type = %(job_type)s
   AND priority = %(priority)s AND run_at <= {{now}} AND (expires_at IS NULL OR expires_at > {{now}})
   AND {{unpaused}} ORDER BY run_at, id LIMIT %(limit)s
"""
OF_SUBJECT = f"""
{_SELECT} WHERE state = 'queued' AND hold = 'limit' AND queue = %(queue)s AND subject = %(subject)s
   AND run_at <= {{now}} AND (expires_at IS NULL OR expires_at > {{now}})
   AND {{served}} ORDER BY priority DESC, run_at, id LIMIT %(limit)s
"""
_OWNER = f"""
SELECT job.{", job.".join(Owner._fields)} FROM {{wanted}} jobs_app_job AS job
 WHERE job.queue = wanted.queue AND job.key = wanted.key AND job.gate = 2 AND job.hold IN ('', 'limit')
"""
# Key by key: as a plain join PostgreSQL may begin with all owners of all keys.
OWNERS_POSTGRES = f"""
SELECT owner.* FROM ({{rows}}) AS wanted CROSS JOIN LATERAL ({_OWNER.format(wanted="")} OFFSET 0 {{lock}}) AS owner
"""
OWNERS_SQLITE = _OWNER.format(wanted="({rows}) AS wanted CROSS JOIN")
PASSING_LOCKED = " FOR NO KEY UPDATE SKIP LOCKED"
SHARING = "FOR SHARE SKIP LOCKED"


class Reader:
    """Reads one queue, inside the transaction of one admit step."""

    def __init__(
        self, connection: BaseDatabaseWrapper, queue: str, *, job_types: Sequence[str], paused_subjects: Sequence[str]
    ) -> None:
        self._connection = connection
        self._is_postgres = is_postgres(connection)
        self._queue = queue
        self._job_types = frozenset(job_types)
        self._paused = list(paused_subjects)
        self._common = {"queue": queue, "now": now_parameter(connection)}

    def lanes(self, hold: str) -> list[tuple[str, int]]:
        """(job type, priority) of everything that waits so, most urgent first, of types that are served."""
        sql = LANES_POSTGRES if self._is_postgres else LANES_SQLITE
        found = [(job_type, priority) for job_type, priority in self._rows(sql, hold=hold)]
        return sorted((lane for lane in found if lane[0] in self._job_types), key=lambda lane: -lane[1])

    def due(self, hold: str, lane: tuple[str, int], limit: int) -> list[Gated]:
        job_type, priority = lane
        unpaused = f"NOT {self._is_in('subject', 'paused')}"
        sql = IN_LANE.format(now=now_sql(self._connection), unpaused=unpaused) + self._lock
        return self._gated(sql, hold=hold, job_type=job_type, priority=priority, limit=limit, paused=self._paused)

    def subjects(self, start: str, limit: int) -> list[str]:
        """Who waits for a limit, in order, from `start` on."""
        found = [row[0] for row in self._rows(SUBJECTS, start=start, limit=limit + len(self._paused))]
        return [subject for subject in found if subject not in self._paused][:limit]

    def due_of(self, subject: str, limit: int) -> list[Gated]:
        sql = OF_SUBJECT.format(now=now_sql(self._connection), served=self._is_in("job_type", "types")) + self._lock
        return self._gated(sql, subject=subject, limit=limit, types=sorted(self._job_types))

    def first_waiting(self, keys: Sequence[str]) -> list[Gated]:
        """The most urgent of each type that waits for each key, if it may be started here."""
        rows, parameters = self._keys(keys)
        sql = (FIRST_POSTGRES if self._is_postgres else FIRST_SQLITE).format(rows=rows, columns=_FIRST_COLUMNS)
        found = self._gated(sql, **parameters)
        return [job for job in found if job.job_type in self._job_types and job.subject not in self._paused]

    def owners(self, keys: Sequence[str], lock: str = "") -> list[Owner]:
        rows, parameters = self._keys(keys)
        sql = (OWNERS_POSTGRES if self._is_postgres else OWNERS_SQLITE).format(rows=rows, lock=lock)
        return [self._owner(row) for row in self._rows(sql, **parameters)]

    def locked_owners(self, keys: Sequence[str]) -> set[UUID]:
        """Those that no other session is just ending, and none can before our transaction has."""
        return {owner.id for owner in self.owners(keys, SHARING)}

    @property
    def _lock(self) -> str:
        return PASSING_LOCKED if self._is_postgres else ""

    def _keys(self, keys: Sequence[str]) -> tuple[str, dict[str, Any]]:
        columns = {"queue": "text", "key": "text"}
        return relation(self._connection, columns, [(self._queue, key) for key in sorted(keys)])

    def _gated(self, sql: str, **parameters: Any) -> list[Gated]:
        found = [Gated._make(row) for row in self._rows(sql, **parameters)]
        if self._is_postgres:
            return found
        return [job._replace(id=read_uuid(job.id), run_at=read_sqlite_time(job.run_at)) for job in found]

    def _is_in(self, column: str, name: str) -> str:
        if self._is_postgres:
            return f"{column} = ANY (%({name})s)"
        return f"{column} IN (SELECT value FROM json_each(%({name})s))"

    @staticmethod
    def _owner(row: Sequence[Any]) -> Owner:
        return Owner(read_uuid(row[0]), *row[1:])

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        if self._is_postgres:
            with bulk_cursor(self._connection, psycopg.ClientCursor) as cursor:
                cursor.execute(sql, self._common | parameters)
                return cursor.fetchall()
        listed = {name: json.dumps(value) if isinstance(value, list) else value for name, value in parameters.items()}
        with self._connection.cursor() as cursor:
            cursor.execute(sql, self._common | listed)
            return cursor.fetchall()


def gated_queues(connection: BaseDatabaseWrapper) -> list[str]:
    """Every queue with a job that admission must look at."""
    if is_postgres(connection):
        return [row[0] for row in run_pinned(connection, QUEUES, {})]
    with connection.cursor() as cursor:
        cursor.execute(QUEUES)
        return [row[0] for row in cursor.fetchall()]
