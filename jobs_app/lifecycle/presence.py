"""Which workers are alive: a row each, beaten in database time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now, while_busy
from jobs_app.models import WorkerKind, WorkerState

FORGET_AFTER = timedelta(days=1)  # a worker that was killed stays visible as lost for this long
BEATS_MISSED = 3  # each process says itself how often it beats: their leases may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What a process tells about itself once."""

    id: str
    kind: WorkerKind = WorkerKind.WORKER
    name: str = ""
    host: str = ""
    pid: int = 0
    version: str = ""
    queues: Sequence[str] = ()
    excluded: Sequence[str] = ()
    job_types: Sequence[str] = ()
    concurrency: int = 0
    beat_seconds: float = 10.0


def is_late(seen_at: datetime, beat_seconds: float, now: datetime) -> bool:
    """Killed, cut off, or about to come back."""
    return now - seen_at > timedelta(seconds=BEATS_MISSED * beat_seconds)


def job_types_alive(connection: BaseDatabaseWrapper, *, now: datetime) -> set[str]:
    """Every job type that some living process knows."""
    rows = WorkerState.objects.using(connection.alias).values_list("seen_at", "beat_seconds", "job_types")
    return {name for seen_at, every, names in rows if not is_late(seen_at, every, now) for name in names}


def is_any_alive(connection: BaseDatabaseWrapper, kind: WorkerKind) -> bool:
    """Does a process of this kind live that goes on to? One that drains does not."""
    rows = WorkerState.objects.using(connection.alias).filter(kind=kind, draining=False)
    now = database_now(connection)
    return any(not is_late(seen_at, every, now) for seen_at, every in rows.values_list("seen_at", "beat_seconds"))


def announce(connection: BaseDatabaseWrapper, who: Presence) -> None:
    now = database_now(connection)
    values = {name: getattr(who, name) for name in Presence.__slots__ if name != "id"}
    lists = {name: list(values[name]) for name in ("queues", "excluded", "job_types")}
    while_busy(
        connection,
        lambda: WorkerState.objects.update_or_create(
            id=who.id, defaults=values | lists | {"started_at": now, "seen_at": now}
        ),
    )
    while_busy(connection, lambda: WorkerState.objects.filter(seen_at__lt=now - FORGET_AFTER).delete())


def beat(
    connection: BaseDatabaseWrapper,
    worker_id: str,
    *,
    busy: int,
    draining: bool,
    rss_bytes: int,
    beat_seconds: float | None = None,
) -> bool:
    """Say "I am here", and, where that is new, how often. False if the row is gone and must be announced again."""
    now = database_now(connection)
    row = WorkerState.objects.filter(id=worker_id)
    facts = {"busy": busy, "draining": draining, "rss_bytes": rss_bytes}
    often = {} if beat_seconds is None else {"beat_seconds": beat_seconds}
    return bool(while_busy(connection, lambda: row.update(seen_at=now, **facts, **often)))


def is_asked_to_drain(connection: BaseDatabaseWrapper, worker_id: str) -> bool:
    """Asked where it is written: a replica would tell it late."""
    return WorkerState.objects.using(connection.alias).filter(id=worker_id, drain_requested=True).exists()


def leave(connection: BaseDatabaseWrapper, worker_id: str) -> None:
    while_busy(connection, lambda: WorkerState.objects.filter(id=worker_id).delete())
