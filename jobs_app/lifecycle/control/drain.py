"""Workers are asked to take no more jobs, to bring those that they have to their end, and then to end themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.database import jobs_connection, while_busy, write_savepoint
from jobs_app.models import WorkerKind, WorkerState

ALL = "all"  # workers that are there now; one that comes later is not meant
GONE = "is not there any more"
NO_WORKER = "is a scheduler: only workers are drained"
ASKED_BEFORE = "was asked to drain before"


def drain(workers: Any, actor: Any, reason: str = "") -> Acted:
    """Ask one worker, some, or `ALL` of them to drain. Each hears of it within a second or two.

    It ends with the exit code 0 when its last job has: whatever starts processes anew after that starts a new worker.
    """
    act = begin("drain", "drain_worker", actor, reason)
    connection = jobs_connection()
    ids = None if isinstance(workers, str) and workers == ALL else _ids(workers)
    return while_busy(connection, lambda: _drain(connection, act, ids))


def _drain(connection: BaseDatabaseWrapper, act: Act, ids: list[str] | None) -> Acted:
    with write_savepoint(connection):
        rows = WorkerState.objects.using(connection.alias)
        found = rows.exclude(kind=WorkerKind.SCHEDULER) if ids is None else rows.filter(pk__in=ids)
        there = {row.pk: row for row in found.order_by("pk").select_for_update().only("kind", "drain_requested")}
        wanted = list(there) if ids is None else ids
        skipped = {worker: why for worker in wanted if (why := _why_not(there.get(worker)))}
        acted = Acted(moved=[worker for worker in wanted if worker not in skipped], skipped=skipped)
        rows.filter(pk__in=acted.moved).update(drain_requested=True)
        act.record(connection, *_target(ids, wanted), acted, {"moved": acted.moved} if len(wanted) > 1 else {})
    return acted


def _why_not(row: WorkerState | None) -> str | None:
    if row is None:
        return GONE
    if row.kind == WorkerKind.SCHEDULER:
        return NO_WORKER
    return ASKED_BEFORE if row.drain_requested else None


def _ids(workers: Any) -> list[str]:
    """Of one worker or of many: ids, or rows. Each once, in the order given."""
    many = workers if isinstance(workers, Iterable) and not isinstance(workers, str) else [workers]
    return list(dict.fromkeys(str(getattr(worker, "pk", worker)) for worker in many))


def _target(ids: list[str] | None, wanted: list[str]) -> tuple[str, str]:
    if ids is None:
        return "workers", "all"
    return ("worker", ids[0]) if len(ids) == 1 else ("workers", f"{len(wanted)} workers")
