"""The work that a pause leaves: jobs that wait are parked, and opened again when it has ended.

Claims leave out what is paused in any case; parking keeps them from reading over it again and again. It goes on a chunk
and a transaction at a time, in whatever process has time, and may be killed anywhere: whoever comes next begins anew
and finds less to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.lifecycle.database import database_now, is_conflict, pinned_transaction
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.parking import BEGINNING, Chunk, open_chunk, park_chunk
from jobs_app.lifecycle.pauses import PARKING, Pauses, in_force, read_pauses
from jobs_app.models import Pause

# An enqueue that saw a pause may commit when what was parked has been opened: a second walk looks for those, and one
# each hour for the later still.
LATE_COMMITS = timedelta(seconds=60)
SWEEP_EVERY_SECONDS = 3600.0


@dataclass(frozen=True)
class Walk:
    """A way through the jobs: which pauses want it, what it does to a chunk, what it notes when it comes to the end."""

    name: str
    wanted: Callable[[datetime], Q]
    step: Callable[[BaseDatabaseWrapper, Pauses, UUID], Chunk]
    note: Callable[[QuerySet[Pause], datetime], object]


@dataclass(frozen=True)
class Place:
    """Where a walk stands, and the pauses whose work is done when it comes to the end."""

    pauses: frozenset[int]
    last: UUID = BEGINNING


class Walked(NamedTuple):
    moved: int = 0
    more: bool = False  # the end is still to come


def _to_park(now: datetime) -> Q:
    return in_force(now) & Q(scope__in=PARKING, parked=False)


def _to_open(now: datetime) -> Q:
    return Q(until__lte=now) & (Q(parked=True) | Q(until__lte=now - LATE_COMMITS))


def _note_opened(ended: QuerySet[Pause], now: datetime) -> None:
    ended.filter(until__lte=now - LATE_COMMITS).delete()
    ended.filter(until__lte=now).update(parked=False)


PARK = Walk("park", _to_park, park_chunk, lambda pauses, now: pauses.filter(in_force(now)).update(parked=True))
OPEN = Walk("open", _to_open, open_chunk, _note_opened)


class Walker:
    """Somebody on these walks, who remembers where each stands. Every thread has its own."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._swept_at = float("-inf")  # by the monotonic clock

    def go_on(self, connection: BaseDatabaseWrapper, seconds: float) -> int:
        """Go on for about so long with what pauses have left to do; the jobs moved.

        One process at a time: while another one is at it, this does nothing. Nothing to do costs three small queries.
        """
        deadline = time.monotonic() + seconds
        now = database_now(connection)
        moved = 0
        for walk in (PARK, OPEN):
            is_sweep = walk is OPEN and time.monotonic() - self._swept_at >= SWEEP_EVERY_SECONDS
            if is_sweep or _rows(connection).filter(walk.wanted(now)).exists():
                walked = self.walk(connection, walk, deadline)
                moved += walked.moved
                if is_sweep and not walked.more:
                    self._swept_at = time.monotonic()
            else:
                self._places.pop(walk.name, None)  # another process came to the end
        return moved

    def walk(self, connection: BaseDatabaseWrapper, walk: Walk, deadline: float) -> Walked:
        """At least one chunk, unless another process is at it: two would undo each other's work."""
        moved = 0
        while True:
            chunk = self._chunk(connection, walk)
            if chunk is None:
                return Walked(moved, more=True)
            moved += chunk.moved
            if chunk.last is None:
                return Walked(moved)
            if time.monotonic() >= deadline:
                return Walked(moved, more=True)

    def _chunk(self, connection: BaseDatabaseWrapper, walk: Walk) -> Chunk | None:
        """The next chunk; None where somebody else is at it, or had a job in hand that this one wanted to wake."""
        try:
            with pinned_transaction(connection):
                if not try_lock(connection, "pauses"):
                    return None
                now = database_now(connection)
                place = self._places.pop(walk.name, None) or Place(_wanting(connection, walk, now))
                chunk = walk.step(connection, read_pauses(connection), place.last)
                if chunk.last is None:
                    walk.note(_rows(connection).filter(pk__in=place.pauses), now)
        except OperationalError as error:
            if connection.in_atomic_block or not is_conflict(error):
                raise
            return None
        if chunk.last is not None:
            self._places[walk.name] = replace(place, last=chunk.last)
        return chunk


def park_waiting(connection: BaseDatabaseWrapper, seconds: float) -> Walked:
    """Park for about so long what every pause in force covers, from the beginning."""
    return Walker().walk(connection, PARK, time.monotonic() + seconds)


def open_parked(connection: BaseDatabaseWrapper, seconds: float) -> Walked:
    """Open for about so long what no pause in force covers, from the beginning."""
    return Walker().walk(connection, OPEN, time.monotonic() + seconds)


def _wanting(connection: BaseDatabaseWrapper, walk: Walk, now: datetime) -> frozenset[int]:
    return frozenset(_rows(connection).filter(walk.wanted(now)).values_list("pk", flat=True))


def _rows(connection: BaseDatabaseWrapper) -> QuerySet[Pause]:
    return Pause.objects.using(connection.alias)
