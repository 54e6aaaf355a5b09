"""Which work was already asked for: a key is taken once, stands for its run, and is forgotten when it expired."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.errors import IdempotencyConflict
from jobs_app.lifecycle.database import (
    NOW,
    is_postgres,
    now_parameter,
    now_sql,
    pinned_transaction,
    read_uuid,
    write_savepoint,
)
from jobs_app.lifecycle.relation import relation
from jobs_app.models import IdempotencyKey

NO_RUN = UUID(int=0)  # what a key stands for that is about many
ROWS_PER_STATEMENT = 500
STATEMENTS_PER_CALL = 10  # who forgets has other things to do as well

COLUMNS = {
    "scope": "text",
    "key": "text",
    "run_id": "uuid",
    "body_hash": "text",
    "created_at": "after",
    "expires_at": "after",
}
# A key that somebody has is locked by the conflict too, so that it cannot be forgotten before it is read.
TAKE = """
INSERT INTO jobs_app_idempotencykey AS taken (scope, key, run_id, body_hash, created_at, expires_at)
SELECT scope, key, run_id, body_hash, created_at, expires_at FROM ({rows}) AS new WHERE true
ON CONFLICT (scope, key) DO UPDATE
   SET run_id = excluded.run_id, body_hash = excluded.body_hash, answer = NULL,
       created_at = excluded.created_at, expires_at = excluded.expires_at
 WHERE taken.expires_at <= {now}
RETURNING run_id
"""
READ = "SELECT run_id, body_hash FROM jobs_app_idempotencykey WHERE scope = %s AND key = %s"

# One that is just being taken again is locked, and passed.
FORGET_POSTGRES = f"""
DELETE FROM jobs_app_idempotencykey WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM jobs_app_idempotencykey WHERE expires_at <= {NOW}
        ORDER BY expires_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
"""
FORGET_SQLITE = """
DELETE FROM jobs_app_idempotencykey WHERE rowid IN (
       SELECT rowid FROM jobs_app_idempotencykey WHERE expires_at <= %(now)s ORDER BY expires_at LIMIT %(limit)s)
"""


def hash_of(job_type: str, body: Any) -> str:
    text = json.dumps([job_type, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def take_key(
    connection: BaseDatabaseWrapper,
    *,
    scope: str,
    key: str,
    run_id: UUID,
    body_hash: str,
    kept_for: float | None = None,  # seconds
) -> tuple[UUID, str] | None:
    """None if the key is ours now; else the run and body it stands for."""
    kept_for = get_settings().idempotency_days * 86400 if kept_for is None else kept_for
    rows, parameters = relation(connection, COLUMNS, [(scope, key, run_id, body_hash, 0, kept_for)])
    now = now_sql(connection)
    with connection.cursor() as cursor:
        cursor.execute(TAKE.format(rows=rows, now=now), parameters)
        if cursor.fetchone():
            return None
        cursor.execute(READ, (scope, key))
        known_id, known_hash = cursor.fetchone()
    return read_uuid(known_id), known_hash


def point_key(connection: BaseDatabaseWrapper, *, scope: str, key: str, run_id: UUID) -> None:
    """Let a key that is ours stand for the run that was there before."""
    IdempotencyKey.objects.using(connection.alias).filter(scope=scope, key=key).update(run_id=run_id)


def keep_answer(connection: BaseDatabaseWrapper, *, scope: str, key: str, answer: dict[str, Any]) -> None:
    """What whoever comes again with this key is answered."""
    IdempotencyKey.objects.using(connection.alias).filter(scope=scope, key=key).update(answer=answer)


def known_answer(connection: BaseDatabaseWrapper, *, scope: str, key: str) -> Any:
    """The row of a key that was answered: with its `answer` and `body_hash`; None where there is none."""
    found = IdempotencyKey.objects.using(connection.alias).filter(scope=scope, key=key, answer__isnull=False)
    return found.order_by().first()


def answered_once(
    connection: BaseDatabaseWrapper, *, scope: str, key: str, body: Any, act: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What `act` answers, done once for a key: who comes again is answered the same. All of it commits, or nothing."""
    body_hash = hash_of(scope, body)
    with write_savepoint(connection):
        known = take_key(connection, scope=scope, key=key, run_id=NO_RUN, body_hash=body_hash)
        if known is None:
            answer = act()
            keep_answer(connection, scope=scope, key=key, answer=answer)
            return answer
        if known[1] != body_hash:
            raise IdempotencyConflict(f"the key {key!r} was used for something else. Use a new one for new work.")
        found: dict[str, Any] = known_answer(connection, scope=scope, key=key).answer
        return found


def free_key(connection: BaseDatabaseWrapper, *, scope: str, key: str) -> None:
    """Give back a key that is ours."""
    IdempotencyKey.objects.using(connection.alias).filter(scope=scope, key=key).delete()


def forget_keys(connection: BaseDatabaseWrapper) -> bool:
    """Delete keys that expired, the oldest first, a few thousand at most. True if there may be more."""
    sql = FORGET_POSTGRES if is_postgres(connection) else FORGET_SQLITE
    for _ in range(STATEMENTS_PER_CALL):
        with pinned_transaction(connection), connection.cursor() as cursor:
            cursor.execute(sql, {"now": now_parameter(connection), "limit": ROWS_PER_STATEMENT})
            if cursor.rowcount < ROWS_PER_STATEMENT:
                return False
    return True
