"""A thread for what is too small to be a job and no job waits for: it wakes now and then, and cleans up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.rates import forget_rates
from jobs_app.lifecycle.turns import take_turn
from jobs_app.runtime.loops import Loop

LOOK_EVERY_SECONDS = 60.0
AN_HOUR = timedelta(hours=1)
PAUSES_SECONDS = 0.5  # then the other chores have a turn
BREATH_SECONDS = 0.05  # between two batches, so that others get at the database

GoOn: TypeAlias = Callable[[], bool]  # asked between batches: False ends the chore
Chore: TypeAlias = Callable[[BaseDatabaseWrapper, GoOn], bool]  # True if there is more to do at once


def forget_old_rates(connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    if take_turn(connection, "rates", seconds=AN_HOUR.total_seconds()):
        forget_rates(connection, go_on)
    return False


def go_on_with_pauses(walker: Walker, connection: BaseDatabaseWrapper, go_on: GoOn) -> bool:
    return walker.go_on(connection, PAUSES_SECONDS) > 0


def usual_chores() -> Sequence[Chore]:
    return [partial(go_on_with_pauses, Walker()), forget_old_rates]


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
