"""How a claim is divided where a process may run only so many jobs of a queue or of a type at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.lanes import ANY, Kind
from jobs_app.lifecycle.rules import Rules, limits_of


class Portion(NamedTuple):
    """Job types that are claimed together, from one queue or from all but some."""

    kind: Kind
    job_types: list[str]
    most: int | None = None
    queue: str | None = None
    not_from: frozenset[str] = frozenset()

    def reads(self, queue: str) -> bool:
        return queue == self.queue if self.queue is not None else queue not in self.not_from


def split(job_types: Sequence[str], rules: Rules, in_hand: Callable[[], Iterable[ClaimedJob]]) -> list[Portion]:
    """First all that has no limit per process: mostly that is everything. Then each limited one by itself."""
    limited_types = {name: most for name in job_types if (most := limits_of(name).concurrency_per_process)}
    limited_queues = {
        name: most for name, queue in rules.queues.items() if (most := queue.concurrency_per_process) is not None
    }
    free = [name for name in job_types if name not in limited_types]
    portions = [Portion(ANY, free, not_from=frozenset(limited_queues))]
    if not limited_types and not limited_queues:
        return portions
    jobs = list(in_hand())
    of_type, of_queue = Counter(job.job_type for job in jobs), Counter(job.queue for job in jobs)
    left = {name: most - of_type[name] for name, most in limited_types.items()}
    portions += [portions[0]._replace(kind=name, job_types=[name], most=left[name]) for name in limited_types]
    for queue, most in limited_queues.items():
        room = most - of_queue[queue]
        portions.append(Portion((queue,), free, room, queue))
        portions += [Portion((queue, name), [name], min(room, left[name]), queue) for name in limited_types]
    return portions
