"""What a quiet time costs the database: transactions, new connections, and how many are held."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

from benchmarks.stores import Postgres

LOOK_SECONDS = 1
COUNTERS = "SELECT xact_commit + xact_rollback, sessions FROM pg_stat_database WHERE datname = current_database()"
HELD = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Counters(NamedTuple):
    transactions: int
    sessions: int


class IdleCost(NamedTuple):
    transactions: float  # in a second
    sessions: float  # new connections in a second
    held: float  # connections that were open, at the median of all looks
    most: int  # at one of them


def cost_between(before: Counters, after: Counters, *, seconds: float, looks: list[int]) -> IdleCost:
    """Less what the looks at it were, each a transaction: the reading of `before`, and one for each of `looks`."""
    ours = 1 + len(looks)
    return IdleCost(
        transactions=max(0, after.transactions - before.transactions - ours) / seconds,
        sessions=(after.sessions - before.sessions) / seconds,
        held=statistics.median(looks),
        most=max(looks),
    )


def idle_cost(store: Postgres, seconds: int) -> IdleCost:
    """Of everybody else who is there in the next `seconds`. Sessions tell what they did within a second, or at their
    end, so that nothing else should have happened just before."""
    with store.connected() as connection:
        before, began = Counters(*connection.execute(COUNTERS).fetchone()), time.monotonic()
        looks = []
        for _ in range(max(1, seconds // LOOK_SECONDS)):
            time.sleep(LOOK_SECONDS)
            looks.append(connection.execute(HELD).fetchone()[0])
        after = Counters(*connection.execute(COUNTERS).fetchone())
        return cost_between(before, after, seconds=time.monotonic() - began, looks=looks)
