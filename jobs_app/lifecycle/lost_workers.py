"""Workers that stopped beating without a word: each is found by one process, once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.lifecycle.presence import FORGET_AFTER, is_late
from jobs_app.lifecycle.turns import take_turn
from jobs_app.models import Job, State, WorkerState

REMEMBERED_SECONDS = 2 * FORGET_AFTER.total_seconds()  # longer than its row is there to be found


class LostWorker(NamedTuple):
    id: str
    kind: str  # worker, scheduler or remote
    name: str
    host: str
    pid: int
    seen_at: datetime  # it may come back, and be lost again


_known: set[LostWorker] = set()  # late ones that this process has asked about


def find_lost(connection: BaseDatabaseWrapper) -> dict[LostWorker, set[UUID]]:
    """Those that nobody has found before, each with the ids of the jobs that it has in hand.

    Whoever gets the turn for one silence of one worker is the one who found it: one row, and so one process.
    """
    late = _late(connection)
    _known.intersection_update(late)
    new = late - _known
    in_hand = _in_hand(connection, new) if new else {}  # first: after its turn a worker is found by nobody else
    found = {}
    for worker in new:
        if take_turn(connection, _silence(worker), seconds=REMEMBERED_SECONDS):
            found[worker] = in_hand[worker]
        _known.add(worker)
    return found


def _late(connection: BaseDatabaseWrapper) -> set[LostWorker]:
    now = database_now(connection)
    rows = WorkerState.objects.using(connection.alias).values_list(*LostWorker._fields, "beat_seconds")
    return {LostWorker(*row[:-1]) for row in rows if is_late(row[-2], row[-1], now)}


def _silence(worker: LostWorker) -> str:
    return f"lost {worker.id} {worker.seen_at.isoformat()}"


def _in_hand(connection: BaseDatabaseWrapper, workers: Iterable[LostWorker]) -> dict[LostWorker, set[UUID]]:
    found = {worker.id: (worker, set[UUID]()) for worker in workers}
    running = Job.objects.using(connection.alias).filter(state=State.RUNNING, worker_id__in=list(found))
    with pinned_reading(connection):  # in the order of the index that has what runs, and not the backlog
        for worker_id, run_id in running.order_by("lease_expires_at").values_list("worker_id", "id"):
            found[worker_id][1].add(run_id)
    return dict(found.values())
