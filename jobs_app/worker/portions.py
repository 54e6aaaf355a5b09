"""How much is claimed, and how that is divided where a process may run only so many of a queue or of a type at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.lanes import ANY, Kind
from jobs_app.lifecycle.rules import Rules, limits_of


@dataclass(frozen=True, kw_only=True)
class Room:
    """How many more jobs this process can take."""

    now: int  # each has a thread waiting for it
    ahead: int  # of short types only
    beside: int = 0  # of any type, by threads that do nothing, or have only short ones before them


class Portion(NamedTuple):
    """Job types that are claimed together, from one queue or from all but some."""

    kind: Kind
    job_types: list[str]
    most: int | None = None
    queue: str | None = None
    not_from: frozenset[str] = frozenset()

    def reads(self, queue: str) -> bool:
        return queue == self.queue if self.queue is not None else queue not in self.not_from


class Left(NamedTuple):
    """How many more jobs this process may run, where that is limited."""

    of_type: dict[str, int]
    of_queue: dict[str, int]


UNLIMITED = Left({}, {})


def left_in_process(job_types: Sequence[str], rules: Rules, in_hand: Callable[[], Iterable[ClaimedJob]]) -> Left:
    types = {name: most for name in job_types if (most := limits_of(name).concurrency_per_process)}
    queues = {name: most for name, queue in rules.queues.items() if (most := queue.concurrency_per_process)}
    if not types and not queues:
        return UNLIMITED
    jobs = list(in_hand())
    of_type, of_queue = Counter(job.job_type for job in jobs), Counter(job.queue for job in jobs)
    return Left(
        {name: max(0, most - of_type[name]) for name, most in types.items()},
        {name: max(0, most - of_queue[name]) for name, most in queues.items()},
    )


def split(job_types: Sequence[str], left: Left) -> list[Portion]:
    """First all that has no limit per process: mostly that is everything. Then each limited one by itself."""
    free = [name for name in job_types if name not in left.of_type]
    portions = [Portion(ANY, free, not_from=frozenset(left.of_queue))]
    for name, most in left.of_type.items():
        portions.append(portions[0]._replace(kind=("", name), job_types=[name], most=most))
    for queue, room in left.of_queue.items():
        portions.append(Portion((queue,), free, room, queue))
        portions += [Portion((queue, name), [name], min(room, most), queue) for name, most in left.of_type.items()]
    return portions
