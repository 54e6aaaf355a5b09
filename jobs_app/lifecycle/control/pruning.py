"""History that is past its retention goes now, because somebody asks for it, and not when the chore comes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import prune
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.prune import Pruned
from jobs_app.models import ControlEvent


def prune_history(
    actor: Any,
    reason: str = "",
    *,
    dry_run: bool = False,
    go_on: Callable[[], bool] = lambda: True,
    tell: Callable[[Mapping[str, int]], None] = lambda counts: None,
) -> Pruned:
    """Delete what is past its retention, batch after batch while `go_on` says so; `tell` hears how many rows went."""
    act = begin("prune", "prune_history", actor, reason)
    connection = jobs_connection()
    if dry_run:
        return prune.prune(connection, go_on=go_on, dry_run=True, tell=tell)
    return _prune(connection, act, go_on, tell)


def _prune(
    connection: BaseDatabaseWrapper, act: Act, go_on: Callable[[], bool], tell: Callable[[Mapping[str, int]], None]
) -> Pruned:
    """The event is there before anything goes, and tells how far it came, also if it is stopped by force."""
    event, counts = act.record(connection, "history", "all", Acted(), {}), dict[str, int]()

    def keep(gone: Mapping[str, int]) -> None:
        counts.update(gone)
        tell(gone)

    try:
        return prune.prune(connection, go_on=go_on, tell=keep)
    finally:
        _note(connection, event, counts)


def _note(connection: BaseDatabaseWrapper, event: ControlEvent, counts: Mapping[str, int]) -> None:
    event.moved, event.detail = sum(counts.values()), {name: count for name, count in counts.items() if count}
    event.save(using=connection.alias, update_fields=["moved", "detail"])
