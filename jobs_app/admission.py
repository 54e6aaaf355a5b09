"""Which of the jobs that share a key may go on: a pure decision, counted from live jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from jobs_app.limits import ONE_RUNNING, Limits, QueueRules


class KeyedJob(Protocol):
    @property
    def job_type(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def hold(self) -> str: ...


Candidate = TypeVar("Candidate", bound=KeyedJob)


@dataclass
class KeyUse:
    """How much of one key is in use: by jobs that are open or running, and by those that only wait for a limit."""

    one_running: int = 0
    total: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    waiting_by_type: Counter[str] = field(default_factory=Counter)

    def add(self, job: KeyedJob, *, waits: bool) -> None:
        self.one_running += job.policy in ONE_RUNNING
        self.total += 1
        self.by_type[job.job_type] += 1
        self.waiting += waits
        self.waiting_by_type[job.job_type] += waits

    def lets_in(self, job: KeyedJob, queue: QueueRules, job_type: Limits) -> bool:
        if job.policy in ONE_RUNNING and self.one_running:
            return False
        return (
            _below(self.total, queue.concurrency_per_key)
            and _below(self.by_type[job.job_type], job_type.concurrency_per_key)
            # For the rate of a key so many wait beside the others as may start at once.
            and _below(self.waiting, queue.rate_per_key and queue.rate_per_key.saved + 1)
            and _below(self.waiting_by_type[job.job_type], job_type.rate_per_key and job_type.rate_per_key.saved + 1)
        )


def use_of(owners: Iterable[KeyedJob]) -> KeyUse:
    use = KeyUse()
    for owner in owners:
        use.add(owner, waits=owner.hold == "limit")
    return use


def elect(
    candidates: Iterable[Candidate], use: KeyUse, queue: QueueRules, limits_of: Callable[[str], Limits]
) -> list[Candidate]:
    """Those that may go on, of candidates in the order of their urgency."""
    elected = []
    for job in candidates:
        if use.lets_in(job, queue, limits_of(job.job_type)):
            use.add(job, waits=True)
            elected.append(job)
    return elected


def _below(count: int, limit: int | None) -> bool:
    return limit is None or count < limit
