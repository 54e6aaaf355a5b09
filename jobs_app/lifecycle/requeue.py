"""running -> queued, but for a job that was asked to stop, and for one whose place in the queue is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import moves
from jobs_app.lifecycle.database import database_now, read_uuid
from jobs_app.lifecycle.moves import HELD, Ended
from jobs_app.lifecycle.relation import relation, same
from jobs_app.models import ONE_QUEUED
from jobs_app.strict_json import dumps

Result = TypeVar("Result")

TRIES = 5

# The run that waits with the key of each, if there is one.
PLACES = """
SELECT mine.id, mine.queue, mine.key,
       (SELECT other.id FROM jobs_app_job AS other
         WHERE other.queue = mine.queue AND other.key = mine.key AND other.id <> mine.id
           AND other.policy IN ('short', 'stately') AND other.state = 'queued' LIMIT 1)
  FROM ({rows}) AS given JOIN jobs_app_job AS mine ON {by_id}
"""


def requeue(connection: BaseDatabaseWrapper, ended: Sequence[Ended], guard: str = HELD) -> set[UUID]:
    """Let jobs wait again, or end them where they may not; the ids that really moved."""
    superseded = _superseded(connection, ended)
    waiting = [one for one in ended if one.id not in superseded]
    moved = moves.remove(connection, list(superseded.values()), guard)
    moved |= moves.requeue(connection, _dated_alike(connection, waiting), f"{guard} AND NOT job.cancel_requested")
    rest = [_cancelled(one) for one in waiting if one.id not in moved]
    return moved | moves.remove(connection, rest, f"{guard} AND job.cancel_requested")


def while_places_are_taken(act: Callable[[], Result]) -> Result:
    """Do `act`, again where somebody took a place in a queue between its look and its write: the next look sees it.

    Over a key that many want the next one may be taken just the same, so more than once.
    """
    for _ in range(TRIES - 1):
        try:
            return act()
        except IntegrityError:
            continue
    return act()


def _superseded(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> dict[UUID, Ended]:
    """Those whose key lets one job wait, and another one does."""
    candidates = {one.id: one for one in ended if one.policy in ONE_QUEUED}
    if not candidates:
        return {}
    rows, parameters = relation(connection, {"id": "uuid"}, [(run_id,) for run_id in candidates])
    with connection.cursor() as cursor:
        cursor.execute(PLACES.format(rows=rows, by_id=same(connection, "mine.id", "given.id")), parameters)
        places = [(read_uuid(mine), (queue, key), other and read_uuid(other)) for mine, queue, key, other in cursor]
    holders = {place: other for _, place, other in places if other}
    superseded = {}
    for mine, place, _ in sorted(places, key=lambda found: found[0]):
        holder = holders.setdefault(place, mine)  # of two that come back together, the first waits
        if holder != mine:
            superseded[mine] = _gives_way(candidates[mine], holder)
    return superseded


def _dated_alike(connection: BaseDatabaseWrapper, waiting: Sequence[Ended]) -> Sequence[Ended]:
    """Where one says the moment at which it is due, all do: they take their places in one statement, by their keys."""
    if all(one.due_at is None for one in waiting):
        return waiting
    now = database_now(connection)
    return [one if one.due_at else replace(one, due_at=now + timedelta(seconds=one.delay)) for one in waiting]


def _gives_way(ended: Ended, holder: UUID) -> Ended:
    return replace(
        ended,
        state="cancelled",
        done_reason="superseded",
        due_at=None,
        error=ended.error or f"run {holder} waits with the same key and does this work",
        result=dumps({"superseded_by": str(holder)}, limit=1000),
    )


def _cancelled(ended: Ended) -> Ended:
    return replace(ended, state="cancelled", done_reason="cancelled", due_at=None)
