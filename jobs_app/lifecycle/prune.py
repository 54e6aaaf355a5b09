"""History that is past its retention goes, the oldest first, in batches that nobody else notices.

A run and all that belongs to it leave in one transaction, so that a process killed anywhere leaves nothing half. There
is nothing to resume: what is still old is found again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now, is_postgres, pinned_transaction
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.retention import Mark, Shelf, shelves
from jobs_app.models import JobRun

FIRST_SIZE, SMALLEST_SIZE, LARGEST_SIZE = 200, 25, 5_000  # rows of a batch
WISHED_SECONDS = 0.1  # that a batch takes; on SQLite everybody else waits as long
LONGEST_STATEMENT = "1s"
PARTS_PER_ROW = 4  # rows that belong to a run of the batch, on average; with more they go first
PARTS = {"items": "jobs_app_jobitem", "attempts": "jobs_app_jobattempt"}

CANCELED = "57014"  # SQLSTATE of a statement that met its timeout

# What belongs to runs goes with them; a run that many items belong to is emptied first, and goes last.
DELETE = "DELETE FROM {table} WHERE id {listed}"
COUNT_PARTS = "SELECT count(*) FROM {table} WHERE job_id {listed}"
POSTGRES_LISTED = "= ANY (%(ids)s)"
POSTGRES_PARTS = """
DELETE FROM {table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM {table} WHERE job_id {listed} LIMIT %(limit)s))
"""
SQLITE_LISTED = "IN (SELECT value FROM json_each(%(ids)s))"
SQLITE_PARTS = "DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE job_id {listed} LIMIT %(limit)s)"


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """How many rows went, or would go."""

    runs: int = 0
    attempts: int = 0
    items: int = 0
    events: int = 0
    samples: int = 0
    complete: bool  # nothing is left that should go
    elsewhere: bool = False  # it ended early because another process prunes

    @property
    def total(self) -> int:
        return self.runs + self.attempts + self.items + self.events + self.samples


def prune(
    connection: BaseDatabaseWrapper,
    *,
    go_on: Callable[[], bool] = lambda: True,
    now: datetime | None = None,
    window: timedelta | None = None,
    dry_run: bool = False,
    tell: Callable[[Mapping[str, int]], None] = lambda counts: None,
) -> Pruned:
    """Delete what is past its retention at `now`. `go_on` is asked after each batch; `dry_run` only counts; `tell`
    hears after each batch what went so far, also of one that is interrupted later.

    It reads all that is old enough for some state, also what stays; with a `window` only what came to that age within
    it, which is little. It ends early if another process prunes: then, too, it is not complete. Inside a transaction
    all batches are part of it, so better call it outside.
    """
    pruning = _Pruning(connection, dry_run, tell)
    found = shelves(connection, now or database_now(connection), window)
    complete = all(pruning.clear(shelf, go_on) for shelf in found)
    return Pruned(**pruning.counts, complete=complete, elsewhere=pruning.elsewhere)


@dataclass
class _Pruning:
    connection: BaseDatabaseWrapper
    dry_run: bool
    tell: Callable[[Mapping[str, int]], None]
    size: int = field(default_factory=lambda: FIRST_SIZE)
    worked: bool = False  # did the last batch find anything?
    elsewhere: bool = False  # another process prunes at this moment
    counts: Counter[str] = field(default_factory=Counter)

    def clear(self, shelf: Shelf, go_on: Callable[[], bool]) -> bool:
        """Batch after batch; False if it was stopped before the end."""
        mark: Mark | None = Mark(shelf.since)
        while mark is not None:
            if self.worked and not go_on():
                return False
            mark = self._batch(shelf, mark)
        return not self.elsewhere

    def _batch(self, shelf: Shelf, mark: Mark) -> Mark | None:
        """One transaction. The next mark; the same if there is more at it; None at the end."""
        began, is_ours = time.monotonic(), self.connection.get_autocommit()
        try:
            with pinned_transaction(self.connection):
                self.elsewhere = not self._is_alone(is_ours)
                next_mark, gone = (None, Counter[str]()) if self.elsewhere else self._take(shelf, mark)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != CANCELED or self.size <= SMALLEST_SIZE:
                raise
            self.size = max(SMALLEST_SIZE, self.size // 2)
            return mark
        self.counts.update(gone)
        self.tell(self.counts)
        self.size = next_size(self.size, time.monotonic() - began)
        return next_mark

    def _is_alone(self, is_ours: bool) -> bool:
        """The only one to prune until the transaction ends; and from here on its statements are short."""
        if self.dry_run:
            return True
        if is_ours and is_postgres(self.connection):  # a host's own transaction may have longer statements after this
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [LONGEST_STATEMENT])
        return try_lock(self.connection, "prune")

    def _take(self, shelf: Shelf, mark: Mark) -> tuple[Mark | None, Counter[str]]:
        going, end = shelf.find(self.connection, mark, self.size)
        gone: Counter[str] = Counter()
        self.worked = bool(going) or end is not None
        if going and shelf.model is JobRun and not self._take_parts(going, gone):
            return mark, gone
        if going:
            gone[shelf.counted_as] = len(going) if self.dry_run else self._delete(shelf.model._meta.db_table, going)
        return end, gone

    def _take_parts(self, runs: Sequence[UUID], gone: Counter[str]) -> bool:
        """What belongs to the runs; False if there may be more of it."""
        sql = COUNT_PARTS if self.dry_run else POSTGRES_PARTS if is_postgres(self.connection) else SQLITE_PARTS
        limit = PARTS_PER_ROW * self.size
        for name, table in PARTS.items():
            gone[name] = self._run(sql, table, runs, limit=limit)
            if gone[name] == limit and not self.dry_run:
                return False
        return True

    def _delete(self, table: str, ids: Sequence[Any]) -> int:
        return self._run(DELETE, table, ids)

    def _run(self, sql: str, table: str, ids: Sequence[Any], **parameters: Any) -> int:
        """The rows it deleted or counted."""
        listed, given = (POSTGRES_LISTED, list(ids)) if is_postgres(self.connection) else (SQLITE_LISTED, _as_json(ids))
        with self.connection.cursor() as cursor:
            cursor.execute(sql.format(table=table, listed=listed), parameters | {"ids": given})
            return cursor.fetchone()[0] if cursor.description else cursor.rowcount


def _as_json(ids: Sequence[Any]) -> str:
    return json.dumps([each.hex if isinstance(each, UUID) else each for each in ids])


def next_size(size: int, seconds: float) -> int:
    """Towards the size that takes the wished time, at most twofold at once."""
    factor = min(2.0, max(0.5, WISHED_SECONDS / max(seconds, 1e-6)))
    return min(LARGEST_SIZE, max(SMALLEST_SIZE, round(size * factor)))
