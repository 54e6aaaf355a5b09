"""A thread for the chores that no job waits for: it wakes now and then, cleans up, and lets its connection go."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.prune import Pruned, prune
from jobs_app.lifecycle.rates import forget_rates
from jobs_app.lifecycle.turns import end_turn, take_turn
from jobs_app.runtime.loops import Loop

logger = logging.getLogger("jobs_app.runtime")

LOOK_EVERY_SECONDS = 60.0
AN_HOUR = timedelta(hours=1)
A_DAY = timedelta(days=1)
RECENT = 2 * A_DAY
LONGEST_TURN_SECONDS = 3600.0  # after which another process goes on, if the one whose turn it was died
PAUSES_SECONDS = 0.5  # then the other chores have a turn
BREATH_SECONDS = 0.05  # between two batches, so that others get at the database

GoOn: TypeAlias = Callable[[], bool]  # asked between batches: False ends the chore
Chore: TypeAlias = Callable[[BaseDatabaseWrapper, GoOn], bool]  # True if there is more to do at once


def prune_recent(connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    """Often, and so cheap that it may be: what became old lately."""
    return _prune(connection, go_on, "prune", every=get_settings().prune_every_seconds, window=RECENT)


def prune_all(connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    """Once a day: also what is kept longer than other runs of its type, and what ended long after it was enqueued."""
    every = max(A_DAY, timedelta(seconds=get_settings().prune_every_seconds))
    return _prune(connection, go_on, "prune all", every=every.total_seconds(), window=None)


def _prune(connection: BaseDatabaseWrapper, go_on: GoOn, chore: str, *, every: float, window: timedelta | None) -> bool:
    """One process of all, one time in `every` seconds. What it cannot finish, the next one goes on with."""
    turn = min(every, LONGEST_TURN_SECONDS)
    if not take_turn(connection, chore, seconds=turn):
        return False
    give_up = time.monotonic() + turn / 2  # well before the turn is somebody else's
    pruned = prune(connection, go_on=lambda: go_on() and time.monotonic() < give_up, window=window)
    end_turn(connection, chore, next_in=every if pruned.complete else 0)
    if pruned.total:
        _tell(pruned)
    return not pruned.complete and pruned.total > 0


def forget_old_rates(connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    if take_turn(connection, "rates", seconds=AN_HOUR.total_seconds()):
        forget_rates(connection, go_on)
    return False


def go_on_with_pauses(walker: Walker, connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    return walker.go_on(connection, PAUSES_SECONDS) > 0


def usual_chores() -> Sequence[Chore]:
    return [partial(go_on_with_pauses, Walker()), prune_recent, prune_all, forget_old_rates]


class Janitor(Loop):
    def __init__(self, chores: Sequence[Chore] | None = None, *, first_after: float = 0.0) -> None:
        super().__init__("janitor")
        self._chores = usual_chores() if chores is None else chores
        self._first_after = first_after  # seconds

    def run(self) -> None:
        if self._first_after:
            self.pause(self._first_after)
        super().run()

    def run_once(self) -> None:
        if not self._do_chores():
            self.connection.close()  # most of the time it has no use for one
            self.pause(LOOK_EVERY_SECONDS)

    def _do_chores(self) -> bool:
        """Each of them, also after one that failed; True if there is more to do at once."""
        more, failed = False, None
        for chore in self._chores:
            try:
                more = chore(self.connection, self._go_on) or more
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed  # the loop tells it and comes back later
        return more

    def _go_on(self) -> bool:
        return not self._ending.wait(BREATH_SECONDS)


def _tell(pruned: Pruned) -> None:
    logger.info(
        "pruned history: %s runs, %s attempts, %s items, %s control events, %s samples%s",
        pruned.runs,
        pruned.attempts,
        pruned.items,
        pruned.events,
        pruned.samples,
        "" if pruned.complete else "; there is more",
    )
