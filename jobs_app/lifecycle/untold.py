"""Failures that nobody was told of yet: noted by the transaction that ends the runs, taken by the one that tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres, read_moment, read_uuid, write_transaction
from jobs_app.models import UntoldFailures

MOST_KINDS = 1000  # that are read. There are as many as job types have classes of errors

# A row is there or it is not: no clock says what was told, so that neither a late commit nor a wrong clock can cost a
# failure or tell it twice. They are counted where they are, and removed by what counts them: 200,000 rows in half a
# second, on either database.
KINDS = """
SELECT kind.job_type, kind.queue, kind.error_class, kind.total, kind.first_at, kind.last_at, newest.run_id, newest.error
  FROM (SELECT job_type, queue, error_class, sum(count) AS total, min(first_at) AS first_at, max(last_at) AS last_at,
               max(id) AS newest_id
          FROM {rows} GROUP BY job_type, queue, error_class) AS kind
  JOIN {rows} AS newest ON newest.id = kind.newest_id
 ORDER BY kind.total DESC, kind.job_type, kind.queue, kind.error_class LIMIT %(most)s
"""
POSTGRES_TAKE = f"WITH told AS (DELETE FROM jobs_app_untoldfailures RETURNING *) {KINDS.format(rows='told')}"
# SQLite removes nothing inside a SELECT, and lets nobody else write between the two.
SQLITE_READ = KINDS.format(rows="jobs_app_untoldfailures")
SQLITE_REMOVE = "DELETE FROM jobs_app_untoldfailures"


class Failed(NamedTuple):
    """One run."""

    job_type: str
    queue: str
    error_class: str  # empty: it failed without an attempt of its own, or was marked so
    finished_at: datetime
    id: UUID
    error: str


@dataclass(kw_only=True)
class Kind:
    """Failures that are told as one."""

    job_type: str
    queue: str
    error_class: str
    count: int
    first_at: datetime
    last_at: datetime
    run_id: UUID  # one of them, and what it said
    error: str


def note(connection: BaseDatabaseWrapper, failed: Iterable[Failed]) -> None:
    """A row for each kind, in the transaction that is open: a batch of failures costs one row most often."""
    rows = [UntoldFailures(**asdict(kind)) for kind in _kinds(failed)]
    UntoldFailures.objects.using(connection.alias).bulk_create(rows)


def is_any(connection: BaseDatabaseWrapper) -> bool:
    return UntoldFailures.objects.using(connection.alias).exists()


def forget(connection: BaseDatabaseWrapper) -> None:
    if is_any(connection):
        with write_transaction(connection):
            UntoldFailures.objects.using(connection.alias).all().delete()


def take(connection: BaseDatabaseWrapper) -> list[Kind]:
    """All there are, the most frequent kind first. For a write transaction of one process at a time."""
    with connection.cursor() as cursor:
        cursor.execute(POSTGRES_TAKE if is_postgres(connection) else SQLITE_READ, {"most": MOST_KINDS})
        rows = cursor.fetchall()
        if not is_postgres(connection):
            cursor.execute(SQLITE_REMOVE)
    return [_kind(row) for row in rows]


def _kind(row: tuple[Any, ...]) -> Kind:
    """As raw SQL gives it."""
    job_type, queue, error_class, count, first_at, last_at, run_id, error = row
    return Kind(
        job_type=job_type,
        queue=queue,
        error_class=error_class,
        count=int(count),
        first_at=read_moment(first_at),
        last_at=read_moment(last_at),
        run_id=read_uuid(run_id),
        error=error,
    )


def _kinds(failed: Iterable[Failed]) -> Iterable[Kind]:
    found: dict[tuple[str, str, str], Kind] = {}
    for job_type, queue, error_class, finished_at, run_id, error in sorted(failed, key=lambda one: one.finished_at):
        kind = found.setdefault(
            (job_type, queue, error_class),
            Kind(
                job_type=job_type,
                queue=queue,
                error_class=error_class,
                count=0,
                first_at=finished_at,
                last_at=finished_at,
                run_id=run_id,
                error=error,
            ),
        )
        kind.count += 1
        kind.last_at, kind.run_id, kind.error = finished_at, run_id, error
    return found.values()
