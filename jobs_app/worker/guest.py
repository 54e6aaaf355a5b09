"""Working inside a transaction of the host's, a test's most of all: it is neither broken nor left changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus


@contextmanager
def unbroken() -> Iterator[None]:
    """Let a handler do what it likes with the transactions that are open around it.

    A worker runs handlers in autocommit mode: what was written before an error stays, and a statement that the database
    refuses costs nothing but itself. In an open transaction it costs everything. So what was written stays here too,
    unless the transaction is broken: then it goes back to where the handler began, and is whole again.
    """
    entered = [
        (connection, connection.savepoint())
        for connection in connections.all(initialized_only=True)
        if connection.in_atomic_block
    ]
    try:
        yield
    finally:
        for connection, savepoint in entered:
            _leave(connection, savepoint)


def _leave(connection: BaseDatabaseWrapper, savepoint: str | None) -> None:
    if savepoint is None:  # a database without them
        return
    if not _is_broken(connection):
        connection.savepoint_commit(savepoint)
        return
    transaction.set_rollback(False, using=connection.alias)  # or the rollback itself would be refused
    connection.savepoint_rollback(savepoint)


def _is_broken(connection: BaseDatabaseWrapper) -> bool:
    """By what Django noticed, or by what the server says: Django does not see what a plain cursor runs into."""
    status = getattr(getattr(connection.connection, "info", None), "transaction_status", None)
    return connection.needs_rollback or status == TransactionStatus.INERROR
