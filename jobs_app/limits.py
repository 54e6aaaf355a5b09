"""How many jobs may run at once and how often one may start: rules as values, and the arithmetic of rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from jobs_app import values
from jobs_app.errors import SettingsInvalid

SYSTEM_NAMES = "jobs."  # how the names of the app's own job types begin
SYSTEM_QUEUE = "jobs.system"  # the app's own chores: exempt from pauses, windows and limits, served by every worker
MOST = 1_000_000
BURST_SECONDS = 1.0  # what was not used within this time is not made up for


class Rate(NamedTuple):
    """At most so many starts in any `seconds`, spread evenly.

    A little may be saved up, or steps of some milliseconds would lose most of a high rate: what a second would let
    through, a tenth of the period at most. It is taken from the rate, so that no period sees more than it allows.
    """

    starts: int
    seconds: float

    @property
    def saved(self) -> int:
        """Starts that may come at once after a pause, beside the one that is due."""
        return int(min(BURST_SECONDS, self.seconds / 10) * self.starts / self.seconds)

    @property
    def step(self) -> timedelta:
        return timedelta(microseconds=math.ceil(self.seconds * 1_000_000 / (self.starts - self.saved)))

    def free_at(self, next_free: datetime | None, now: datetime) -> datetime:
        """When the next one may start; a moment in the past where some are saved up."""
        oldest = now - self.step * self.saved
        return oldest if next_free is None else max(next_free, oldest)

    def take(self, next_free: datetime | None, now: datetime, wanted: int) -> tuple[int, datetime]:
        """How many of `wanted` may start now, and when the next one may after them."""
        free_at = self.free_at(next_free, now)
        granted = 0
        while granted < wanted and free_at <= now:
            granted += 1
            free_at += self.step
        return granted, free_at


@dataclass(frozen=True, kw_only=True)
class Limits:
    """None: no limit."""

    concurrency: int | None = None
    concurrency_per_key: int | None = None
    concurrency_per_process: int | None = None
    rate: Rate | None = None
    rate_per_key: Rate | None = None

    @property
    def is_per_key(self) -> bool:
        return self.concurrency_per_key is not None or self.rate_per_key is not None

    @property
    def is_shared(self) -> bool:
        """Is anything limited over all processes?"""
        return self.is_per_key or self.concurrency is not None or self.rate is not None


@dataclass(frozen=True, kw_only=True)
class QueueRules(Limits):
    policy: str = "standard"
    fair_share: bool = False  # subjects take turns
    ageing: float | None = None  # seconds of waiting that raise the priority by one

    @property
    def is_shared(self) -> bool:
        return self.fair_share or self.ageing is not None or super().is_shared


NO_RULES = QueueRules()
ONE_RUNNING = ("singleton", "exclusive", "stately")


def gate(policy: str, *rules: Limits) -> int:
    """What a job must pass before it is open to claims: 0 nothing, 1 limits, 2 its key and then limits."""
    if policy in ONE_RUNNING or any(limits.is_per_key for limits in rules):
        return 2
    return int(any(limits.is_shared for limits in rules))


def rate(value: object) -> Rate:
    return Rate(*values.rate(value))


_count = partial(values.whole, low=1, high=MOST)
POLICIES = ("standard", "singleton", "exclusive", "short", "stately")
READERS: Mapping[str, Callable[[Any], Any]] = {
    "policy": partial(values.choice, of=POLICIES),
    "concurrency": _count,
    "concurrency_per_key": _count,
    "concurrency_per_process": _count,
    "rate": rate,
    "rate_per_key": rate,
    "fair_share": values.flag,
    "ageing": values.period,
}


def read_queues(given: Mapping[str, Any]) -> dict[str, QueueRules]:
    """`settings.JOBS["QUEUES"]`: rules by the name of the queue."""
    return {_queue_name(name): _read_rules(name, rules) for name, rules in given.items()}


def _queue_name(name: object) -> str:
    try:
        return values.name(name)
    except ValueError as problem:
        raise SettingsInvalid(f"settings.JOBS['QUEUES'] names a queue {name!r}: {problem}.") from None


def _read_rules(queue: str, given: Any) -> QueueRules:
    where = f"settings.JOBS['QUEUES'][{queue!r}]"
    if not isinstance(given, Mapping):
        raise SettingsInvalid(f"{where} must be a dict of rules, not {given!r}.")
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if name not in READERS:
            raise SettingsInvalid(f"{where} has no rule {name!r}. Known are: {', '.join(READERS)}.")
        try:
            chosen[name] = getattr(NO_RULES, name) if value is None else READERS[name](value)
        except ValueError as problem:
            raise SettingsInvalid(f"{where}[{name!r}] = {value!r} cannot be used: {problem}.") from None
    return QueueRules(**chosen)
