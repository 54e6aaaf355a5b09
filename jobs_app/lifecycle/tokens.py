"""Whose API token a request carries, asked of the database each time: one that is revoked is worth nothing at once."""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

from jobs_app.lifecycle.database import (
    database_now,
    first_row,
    now_parameter,
    now_sql,
    while_busy,
    write_transaction,
)
from jobs_app.models import ApiToken
from jobs_app.tokens import hash_of, prefix_of

NOTED_EVERY = timedelta(minutes=1)  # a token is used a hundred times a second, and nobody asks for more than the minute
NO_HASH = hash_of("")  # what is compared where no row has the prefix, so that nobody hears from the time it takes

# By hand, since every request begins with it: the ORM takes longer to write it (1 ms) than the database to answer.
IN_FORCE = """
SELECT *, {now} AS read_at FROM jobs_app_apitoken
 WHERE prefix = %(prefix)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > {now})
"""


def find_token(connection: BaseDatabaseWrapper, text: str) -> ApiToken | None:
    """The row of a token that is in force, with `read_at`, the time of reading; None for any other text."""
    prefix = prefix_of(text)
    if prefix is None:
        return None
    found = _in_force(connection, prefix)
    known = NO_HASH if found is None else found.token_hash
    return found if hmac.compare_digest(hash_of(text).encode(), known.encode()) else None


def note_use(connection: BaseDatabaseWrapper, token: ApiToken) -> None:
    """Keep that it was used just now, to the minute. Whoever else writes the row is not waited for.

    Inside a transaction the row stays locked until that ends, and a revocation waits so long: note it outside of one.
    """
    now: datetime = getattr(token, "read_at", None) or database_now(connection)
    before = now - NOTED_EVERY
    if token.last_used_at is not None and token.last_used_at > before:
        return
    while_busy(connection, lambda: _note(connection, token.pk, now, before))
    token.last_used_at = now


def _note(connection: BaseDatabaseWrapper, pk: int, now: datetime, before: datetime) -> None:
    rows = ApiToken.objects.using(connection.alias)
    due = rows.filter(Q(last_used_at=None) | Q(last_used_at__lte=before), pk=pk)
    with write_transaction(connection):
        free = due.select_for_update(skip_locked=True, no_key=True).values("pk")
        rows.filter(pk__in=free).update(last_used_at=now)


def _in_force(connection: BaseDatabaseWrapper, prefix: str) -> ApiToken | None:
    """Where it is written: a replica would hear of a revocation late."""
    given = {"now": now_parameter(connection), "prefix": prefix}
    found: ApiToken | None = first_row(connection, ApiToken, IN_FORCE.format(now=now_sql(connection)), given)
    return found
