"""One at a time over all processes, until the transaction ends."""

from __future__ import annotations

import zlib

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres

FAMILY = 0x6A6F6273  # of our advisory locks


def try_lock(connection: BaseDatabaseWrapper, name: str) -> bool:
    """Be the only one until the transaction ends. Not waited for: a process that hangs must not stop the others."""
    if not is_postgres(connection):
        return True  # the write lock of the database is ours
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [FAMILY, zlib.crc32(name.encode()) - 2**31])
        return bool(cursor.fetchone()[0])
