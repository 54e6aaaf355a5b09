"""API tokens: made for programs that speak over HTTP, and taken back from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Acted, begin
from jobs_app.lifecycle.control.token_options import checked
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.models import ApiToken
from jobs_app.tokens import PREFIX, new_token, prefix_of

KIND = "token"
NOT_FOUND = "is no API token"
REVOKED = "is revoked already"


@dataclass(kw_only=True)
class Created(Acted):
    """A token that was made. Its text is here and nowhere else: whoever asked for it is told it once."""

    text: str = field(repr=False)
    token: ApiToken


def create_token(
    name: str,
    actor: Any,
    reason: str = "",
    *,
    scopes: Iterable[str],
    queues: Iterable[str] = (),
    job_types: Iterable[str] = (),
    expires_at: datetime | None = None,
) -> Created:
    """Let a program do what the scopes say over HTTP, for jobs of these queues and job types, or else of all.

    Both are names or patterns, such as `mail.*`. The app's own chores are never among them.
    """
    act = begin("create", "manage_token", actor, reason)
    given = {"scopes": scopes, "queues": queues, "job_types": job_types, "expires_at": expires_at}
    chosen = checked(act, {"name": name, **given})
    connection, new = jobs_connection(), new_token()
    with write_savepoint(connection):
        _require_time(connection, name, expires_at)
        row = ApiToken.objects.using(connection.alias).create(
            prefix=new.prefix, token_hash=new.token_hash, created_by=act.actor, **chosen
        )
        created = Created(moved=[new.prefix], text=new.text, token=row)
        act.record(connection, KIND, new.prefix, created, _told(row))
        return created


def revoke_token(token: int | str, actor: Any, reason: str = "") -> Acted:
    """Take it back, named by its id, its prefix or its whole text: the next request with it is refused.

    Its row stays, to tell what it was.
    """
    act = begin("revoke", "manage_token", actor, reason)
    column, value = _named(token)
    connection = jobs_connection()
    with write_savepoint(connection):
        row = ApiToken.objects.using(connection.alias).select_for_update().filter(**{column: value}).first()
        target = str(value) if row is None else row.prefix
        acted = _revoked(connection, row, target)
        act.record(connection, KIND, target, acted, {} if row is None else _told(row))
        return acted


def _require_time(connection: BaseDatabaseWrapper, name: str, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= database_now(connection):
        raise OptionInvalid(f"API token {name!r}: expires_at={expires_at} has passed. Give a later time, or none.")


def _named(token: object) -> tuple[str, int | str]:
    """The column by which its row is found. What cannot be one is not repeated: it may be part of a secret."""
    if isinstance(token, int) and not isinstance(token, bool):
        return "pk", token
    if isinstance(token, str) and (prefix := prefix_of(token) or (token if PREFIX.fullmatch(token) else None)):
        return "prefix", prefix
    raise OptionInvalid("name the API token by its id, or by the 8 characters of its prefix.")


def _revoked(connection: BaseDatabaseWrapper, row: ApiToken | None, target: str) -> Acted:
    if row is None:
        return Acted(skipped={target: NOT_FOUND})
    if row.revoked_at is not None:
        return Acted(skipped={target: REVOKED})
    row.revoked_at = database_now(connection)
    row.save(update_fields=["revoked_at"])
    return Acted(moved=[target])


def _told(row: ApiToken) -> dict[str, Any]:
    expires_at = None if row.expires_at is None else row.expires_at.isoformat()
    lists = {"scopes": row.scopes, "queues": row.queues, "job_types": row.job_types}
    return {"name": row.name, **lists, "expires_at": expires_at}
