"""Jobs of a paused type or subject, a chunk taken out of the claims' way or given back: queued, held, and open again.

Chunks go by id. Rows that somebody is just writing are passed, never waited for.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Greatest

from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.models import Hold, Job, State
from jobs_app.registry import SYSTEM_QUEUE

ROWS_PER_CHUNK = 2000  # read, and so written at most; 2000 are written in some 50 ms
BEGINNING = UUID(int=0)


class Chunk(NamedTuple):
    moved: int
    last: UUID | None  # None: there was no more


def park_chunk(connection: BaseDatabaseWrapper, pauses: Pauses, after: UUID) -> Chunk:
    """Hold what is paused among the next jobs that wait, whatever else they wait for."""
    chunk, last = _next_chunk(_jobs(connection), after)
    found = list(
        chunk.filter(_covered(pauses), state=State.QUEUED)
        .exclude(hold=Hold.PAUSE)
        .select_for_update(skip_locked=True, no_key=True)
        .values_list("pk", "queue", "key", "gate", "hold")[:ROWS_PER_CHUNK]
    )
    _jobs(connection).filter(pk__in=[row[0] for row in found]).update(hold=Hold.PAUSE)
    # Who had the key of others, or was to be looked at next, lets the next one go first.
    freed = [Key(queue, key) for _, queue, key, gate, hold in found if gate and hold != Hold.KEY and key]
    wake_next(connection, freed)
    return Chunk(len(found), last)


def open_chunk(connection: BaseDatabaseWrapper, pauses: Pauses, after: UUID) -> Chunk:
    """Give back what no pause covers among the next jobs that are parked, to wait for whatever else they must."""
    chunk, last = _next_chunk(_jobs(connection).filter(hold=Hold.PAUSE), after)
    found = list(
        chunk.exclude(_covered(pauses))
        .select_for_update(skip_locked=True, no_key=True)
        .values_list("pk", "queue", "priority")[:ROWS_PER_CHUNK]
    )
    # Due from now on: claims read each lane from where they stopped, and would find older ones late.
    due = Greatest(F("run_at"), Value(database_now(connection)))
    _jobs(connection).filter(pk__in=[row[0] for row in found]).update(hold=RawSQL(hold_by_gate("gate"), ()), run_at=due)
    wakeup.tell(connection, {(queue, priority) for _, queue, priority in found})
    return Chunk(len(found), last)


def _jobs(connection: BaseDatabaseWrapper) -> QuerySet[Job]:
    return Job.objects.using(connection.alias)


def _next_chunk(jobs: QuerySet[Job], after: UUID) -> tuple[QuerySet[Job], UUID | None]:
    """The next so many of `jobs`, and the last of them; None where there are fewer."""
    rest = jobs.filter(pk__gt=after)
    ids = rest.order_by("pk").values_list("pk", flat=True)
    last = next(iter(ids[ROWS_PER_CHUNK - 1 : ROWS_PER_CHUNK]), None)
    return (rest if last is None else rest.filter(pk__lte=last)), last


def _covered(pauses: Pauses) -> Q:
    of_pause = Q(job_type__in=pauses.job_types) | Q(subject__in=pauses.subjects)
    return of_pause & ~Q(queue=SYSTEM_QUEUE)
