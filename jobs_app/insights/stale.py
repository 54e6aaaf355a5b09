"""Which runs stand still, why, and what would become of them."""

from __future__ import annotations

from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.stale import KINDS, Stale, find_stale

MOST_SHOWN = 200


def stale_runs(
    connection: BaseDatabaseWrapper, *, kinds: Collection[str] = KINDS, limit: int = MOST_SHOWN
) -> list[Stale]:
    """Those that stand still for longest, each with its verdict. Nothing is moved: `control.reconcile` does that."""
    return find_stale(connection, kinds)[:limit]
