"""The two threads of a web process that look out for pulls which wait: one hears of new work, one looks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Protocol

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.gated import gated_queues
from jobs_app.lifecycle.lanes import find_lanes
from jobs_app.lifecycle.peek import newly_due
from jobs_app.remote.rounds import rounds
from jobs_app.runtime.loops import Loop
from jobs_app.worker.listener import Listener
from jobs_app.worker.ration import SHARE

LATE_COMMITS = timedelta(seconds=2)  # a job is due from its enqueue on, and can be seen from its commit on
EVERYTHING_EVERY_SECONDS = 10.0  # the net below: whatever waits anywhere


class Room(Protocol):
    def told_of(self, queues: Iterable[str]) -> None: ...

    def dismisses(self, thread: Loop) -> bool:
        """Does nobody need it any more? Then it is gone."""
        ...


class Ear(Listener):
    """Hears which lane has work. Where it is told only that something happened, it lets the other look."""

    def __init__(self, room: Room, look: Callable[[], None]) -> None:
        super().__init__(self._hear_of)
        self._room = room
        self._let_look = look

    def is_done(self) -> bool:
        return self.stopping or self._room.dismisses(self)

    def _hear_of(self, lane: tuple[str, int] | None) -> None:
        if lane is None:
            self._let_look()
        else:
            self._room.told_of([lane[0]])


class Lookout(Loop):
    """Looks as often as an idle worker, and gives back what silent workers had: those who wait may be all there are."""

    def __init__(self, room: Room) -> None:
        super().__init__("lookout")
        self._room = room
        self._seen_until: datetime | None = None
        self._everything_at = float("-inf")

    def is_done(self) -> bool:
        return self.stopping or self._room.dismisses(self)

    def run_once(self) -> None:
        rounds.go(self.connection, every=get_settings().recover_seconds)
        began = time.monotonic()
        self._room.told_of(self._queues())
        cost = time.monotonic() - began
        self.pause(max(get_settings().worker_poll_seconds, cost / SHARE))

    def _queues(self) -> set[str]:
        """Where something became due since the last look, or waits before a gate; now and then wherever anything is."""
        lanes, gated = find_lanes(self.connection), gated_queues(self.connection)
        now, since = database_now(self.connection), self._seen_until
        self._seen_until = now
        if since is None or time.monotonic() - self._everything_at >= EVERYTHING_EVERY_SECONDS:
            self._everything_at = time.monotonic()
            return {*gated, *(queue for queue, _ in lanes)}
        return {*gated, *newly_due(self.connection, lanes, since - LATE_COMMITS)}
