"""Whose turn a chore of the whole cluster is: one row per chore, moved by compare-and-set in database time."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import now_sql, write_transaction
from jobs_app.lifecycle.relation import relation

SCOPE = "jobs.turn"
COLUMNS = {"scope": "text", "key": "text", "next_free_at": "after"}
TAKE = """
INSERT INTO jobs_app_ratelimit AS turn (scope, key, next_free_at)
SELECT scope, key, next_free_at FROM ({rows}) AS new WHERE true
ON CONFLICT (scope, key) DO UPDATE SET next_free_at = excluded.next_free_at WHERE turn.next_free_at <= {now}
"""
END = """
UPDATE jobs_app_ratelimit AS turn SET next_free_at = new.next_free_at FROM ({rows}) AS new
 WHERE turn.scope = new.scope AND turn.key = new.key
"""


def take_turn(connection: BaseDatabaseWrapper, chore: str, *, seconds: float) -> bool:
    """May this process do it now? Then nobody else may for so long, unless it ends its turn before; also if it dies."""
    return _move(connection, TAKE, chore, seconds)


def end_turn(connection: BaseDatabaseWrapper, chore: str, *, next_in: float) -> None:
    """The chore is due again in so many seconds; 0 if there is more to do than this process could."""
    _move(connection, END, chore, next_in)


def _move(connection: BaseDatabaseWrapper, sql: str, chore: str, seconds: float) -> bool:
    rows, parameters = relation(connection, COLUMNS, [(SCOPE, chore, seconds)])
    with write_transaction(connection), connection.cursor() as cursor:
        cursor.execute(sql.format(rows=rows, now=now_sql(connection)), parameters)
        return cursor.rowcount > 0
