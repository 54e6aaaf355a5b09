"""How long reading may take. What asks for too much is stopped, so that no page hangs or holds up the database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import JobsError
from jobs_app.lifecycle.database import is_postgres

CANCELLED = "57014"  # SQLSTATE of a statement that its timeout ended
STEPS_PER_LOOK = 10_000  # of SQLite's machine, some milliseconds: between two looks at the clock


class OutOfBudget(JobsError):
    """Reading took longer than it may. Ask for less: one queue, one job type, a shorter time."""


@contextmanager
def budget(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Let each statement within take so long at most, and write nothing; else OutOfBudget."""
    limited = _on_postgres if is_postgres(connection) else _on_sqlite
    try:
        with limited(connection, seconds):
            yield
    except OperationalError as error:
        if not _is_cut(error):
            raise
        raise OutOfBudget(f"reading was stopped after {seconds:g} s") from error


def _is_cut(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == CANCELLED or str(error) == "interrupted"


@contextmanager
def _on_postgres(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Local to a transaction, so that a pooler is no problem. A host's own transaction gets its timeout back."""
    is_ours = not connection.in_atomic_block
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        if is_ours:
            cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute("SELECT current_setting('statement_timeout')")
        [before] = cursor.fetchone()
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds * 1000:.0f}ms"])
        yield
        if not is_ours:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [before])


@contextmanager
def _on_sqlite(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    connection.ensure_connection()
    deadline = time.monotonic() + seconds
    raw = connection.connection
    raw.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_PER_LOOK)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)
