"""Which slots become jobs, by the rules alone: intervals in whole seconds, and crons that are written as intervals."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tests.scheduler.schedules import after

NEVER = 10**9


class Kind(NamedTuple):
    """A schedule, and how its slots follow from its first one; in seconds after noon."""

    columns: dict[str, Any]
    first: int
    every: int
    most: int | None = None  # slots with a job, however many pass

    def slots(self, end: int) -> list[int]:
        """Those that get a job."""
        return [*self.passed(end)][: self.most]

    def passed(self, end: int) -> range:
        return range(self.first, end + 1, self.every)


def kinds(random: Random, count: int) -> list[Kind]:
    """Schedules of all sorts. Those that take the newest slot alone have longer intervals than clocks are apart."""
    return [random.choice(MAKERS)(random) for _ in range(count)]


def _all(random: Random) -> Kind:
    first, every = random.randrange(-300, 600), random.randrange(15, 120)
    columns = {"catch_up": "all", "catch_up_max": random.randrange(1, 12), "spread_seconds": random.choice([0, 60])}
    return Kind({**columns, "interval_seconds": every}, first, every)


def _newest(random: Random) -> Kind:
    every = random.randrange(500, 900)
    return Kind({"interval_seconds": every, "jitter_seconds": 5}, random.randrange(0, 600), every)


def _cron(random: Random) -> Kind:
    minutes = random.choice([10, 12, 15, 20])
    return Kind({"interval_seconds": None, "cron": f"*/{minutes} * * * *"}, 0, minutes * 60)


def _single(random: Random) -> Kind:
    first = random.randrange(0, 1200)
    return Kind({"interval_seconds": None, "once_at": after(first)}, first, NEVER)


def _alone(random: Random) -> Kind:
    """Nobody works here: the job of the first slot waits to the end."""
    every = random.randrange(500, 900)
    return Kind({"interval_seconds": every, "overlap": random.choice(["skip", "queue_one"])}, 0, every, most=1)


MAKERS = [_all, _all, _newest, _cron, _single, _alone]
