"""Everything that the verdict is about, read for whoever asks for it: the dashboard, or a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights import dashboard, throughput
from jobs_app.insights.budget import budget
from jobs_app.insights.verdict import Known
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Pause

T = TypeVar("T")


class Reader(Protocol):
    """Reads one part, or what is kept of it; None where that takes too long."""

    def __call__(self, name: str, function: Callable[[], T], /) -> T | None: ...


def read_known(connection: BaseDatabaseWrapper, read: Reader, pauses: Sequence[Pause]) -> Known:
    """Each query is bounded, however much waits and has ended."""
    hour = read("hour", lambda: throughput.last_hour(connection, database_now(connection)))
    now = read("now", lambda: dashboard.read_now(connection, hour.queues if hour else {}))
    return Known(
        now=now and now.under(pauses),  # what is kept of it may be older than they are
        schedules=read("schedules", lambda: dashboard.read_schedules(connection)),
        stale=read("stale", lambda: dashboard.read_stale(connection)),
        hour=hour,
        pauses=pauses,
    )


def read_all(connection: BaseDatabaseWrapper, pauses: Sequence[Pause], *, seconds: float) -> Known:
    """Without gaps: OutOfBudget where a part takes longer than this."""

    def read(name: str, function: Callable[[], T]) -> T:
        with budget(connection, seconds):
            return function()

    return read_known(connection, read, pauses)
