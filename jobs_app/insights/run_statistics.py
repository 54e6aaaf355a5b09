"""How many of the runs that a filter means are in each state, and how large a part that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Q

from jobs_app.insights import run_keys
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_match import live_state
from jobs_app.insights.run_order import BY_ID, NEWEST
from jobs_app.insights.runs import RETRYING, SCHEDULED
from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.models import FINISHED, State

MOST_LOOKED_AT = 10_000  # the newest live ones, and the newest that have ended
WAITS_OR_RUNS = (State.QUEUED, SCHEDULED, RETRYING, State.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Share:
    """Of all that were looked at, those in one state."""

    state: str
    count: int
    percent: float  # with two digits
    runs: RunFilter  # exactly these, unless there are more than were looked at


@dataclass(frozen=True, kw_only=True)
class Statistics:
    shares: list[Share]
    total: int
    is_capped: bool  # there are more than were looked at

    def of(self, state: str) -> Share:
        return next(share for share in self.shares if share.state == state)


def statistics(connection: BaseDatabaseWrapper, chosen: RunFilter, *, most: int = MOST_LOOKED_AT) -> Statistics:
    """Whatever state the filter names: of all states."""
    stateless = chosen.without("state", "open", "order")
    # Spelled out, since some states have another default.
    everywhere = replace(stateless, window=stateless.window or stateless.default_window)
    now = database_now(connection)
    with pinned_reading(connection):
        live, is_live_capped = _live(connection, everywhere, now, most)
        ended, is_ended_capped = _ended(connection, everywhere, now, most)
    counts = live | ended
    total = sum(counts.values())
    shares = [
        Share(
            state=state,
            count=count,
            percent=round(100 * count / total, 2) if total else 0.0,
            runs=replace(everywhere, state=state),
        )
        for state, count in counts.items()
    ]
    return Statistics(shares=shares, total=total, is_capped=is_live_capped or is_ended_capped)


def _live(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, most: int) -> tuple[dict[str, int], bool]:
    reading = run_keys.live(connection, chosen, now, BY_ID)
    each = {str(word): Count("pk", filter=live_state(word, now) or Q()) for word in WAITS_OR_RUNS}
    return reading.first(most).aggregate(**each), reading.is_more(most)


def _ended(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, most: int) -> tuple[dict[str, int], bool]:
    reading = run_keys.finished(connection, chosen, now, BY_ID if chosen.schedule else NEWEST)
    each = {str(state): Count("pk", filter=Q(state=state)) for state in FINISHED}
    return reading.first(most).aggregate(**each), reading.is_more(most)
