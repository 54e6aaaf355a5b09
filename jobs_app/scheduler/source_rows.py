"""The rows of a source, read so that schedules and jobs can be written meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now, is_postgres
from jobs_app.sources import Source


def source_rows(connection: BaseDatabaseWrapper, source: Source) -> Iterator[Any]:
    """One by one; on SQLite all at once. A query that is open there holds on to what it saw first, and once another
    process has written, no write of this connection is let in until it is read to its end."""
    rows = source.rows(database_now(connection))
    return iter(rows if is_postgres(connection) else list(rows))
