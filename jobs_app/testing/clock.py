"""The time that decides what is due, leased or expired, standing where a test puts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta

from jobs_app import values
from jobs_app.lifecycle.database import database_now, frozen_clock, jobs_connection
from jobs_app.options import Duration


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, moment: datetime, moves: ExitStack) -> None:
        self._moves = moves
        self._now = moment
        self.move_to(moment)

    @property
    def now(self) -> datetime:
        return self._now

    def move(self, by: Duration) -> datetime:
        """On by so many seconds, a timedelta, or text such as "90s", "5m", "2h", "1d"."""
        return self.move_to(self._now + timedelta(seconds=values.seconds(by)))

    def move_to(self, moment: datetime) -> datetime:
        self._now = values.moment(moment)
        self._moves.enter_context(frozen_clock(moment))
        return moment


@contextmanager
def freeze_clock(moment: datetime | Duration | None = None) -> Iterator[Clock]:
    """Stop the clock of all jobs: at a moment, so far from now, or now.

    It is the database's clock as this app reads it, on both databases. Python's own is not touched: combine it with
    `freezegun` or `time-machine` where a handler asks for the time.
    """
    with ExitStack() as moves:
        yield Clock(_moment(moment), moves)


def _moment(given: datetime | Duration | None) -> datetime:
    if isinstance(given, datetime):
        return values.moment(given)
    now = database_now(jobs_connection())
    return now if given is None else now + timedelta(seconds=values.seconds(given))
