"""Is the file of an SQLite database set up for several processes?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor.finding import Fault, Needs, examination, warning

LARGE_WAL_BYTES = 64 * 1024 * 1024  # SQLite empties it at some 4 MB, unless a reader keeps it from that


@examination(fine="Readers and the writer do not block each other.", needs=Needs.DATABASE, only_on="sqlite")
def journal_mode(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    mode = _pragma(connection, "journal_mode")
    if mode != "wal" and _file(connection):
        advice = "Start manage.py runworker or runscheduler once: it switches the file to WAL, which lasts."
        yield warning(f"The journal mode is {mode}, not WAL: who reads keeps workers from writing.", advice=advice)


@examination(fine="The write-ahead log is small.", needs=Needs.DATABASE, only_on="sqlite")
def wal_size(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    wal = Path(f"{_file(connection)}-wal")
    size = wal.stat().st_size if wal.exists() else 0
    if size > LARGE_WAL_BYTES:
        told = f"The write-ahead log {wal.name} has {size // 1024 // 1024} MB"
        yield warning(
            f"{told}: some process reads in one transaction for long, and keeps SQLite from emptying it.",
            advice="Restart the processes that hold the file open; PRAGMA wal_checkpoint(TRUNCATE) then empties it.",
        )


def _file(connection: BaseDatabaseWrapper) -> str:
    """Empty: it is in memory."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA database_list")
        return next((path for _, name, path in cursor.fetchall() if name == "main"), "") or ""


def _pragma(connection: BaseDatabaseWrapper, name: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]
