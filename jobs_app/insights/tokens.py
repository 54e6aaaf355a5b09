"""The API tokens there are: which are in force, what each is for, and when it was used last."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F

from jobs_app.lifecycle.database import database_now
from jobs_app.models import ApiToken

MOST_SHOWN = 500
IN_FORCE, EXPIRED, REVOKED = "in force", "expired", "revoked"


class TokenList(NamedTuple):
    tokens: list[tuple[ApiToken, str]]  # each with its status
    is_capped: bool


def status_of(token: ApiToken, *, now: datetime) -> str:
    if token.revoked_at is not None:
        return REVOKED
    return EXPIRED if token.expires_at is not None and token.expires_at <= now else IN_FORCE


def listed(column: object) -> list[str]:
    """Scopes, queues or job types of a row; one that somebody else wrote may hold anything."""
    return [str(each) for each in column] if isinstance(column, list) else []


def all_tokens(connection: BaseDatabaseWrapper, *, limit: int = MOST_SHOWN) -> TokenList:
    """The newest first, and after them those that are revoked: however many these are, they hide none that is not."""
    rows = ApiToken.objects.using(connection.alias).order_by(F("revoked_at").desc(nulls_first=True), "-pk")
    found, now = list(rows[: limit + 1]), database_now(connection)
    return TokenList([(row, status_of(row, now=now)) for row in found[:limit]], len(found) > limit)
