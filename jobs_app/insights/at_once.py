"""How much can run at once: the slots of living workers, and the job types of which a subject runs one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.capacity import MINUTES
from jobs_app.insights.processes import ALIVE, status_of
from jobs_app.lifecycle.rules import Rules, limits_of, read_rules
from jobs_app.limits import ONE_RUNNING, Limits
from jobs_app.models import WorkerKind, WorkerState
from jobs_app.registry import registry
from jobs_app.serving import Serving

COLUMNS = ("queues", "excluded", "job_types", "concurrency", "draining", "drain_requested", "beat_seconds", "seen_at")


@dataclass(frozen=True)
class AtOnce:
    """As of one moment. `given` slots, where a caller plans with others than there are, serve every job type."""

    workers: Sequence[WorkerState]
    rules: Rules
    given: int | None = None

    @property
    def slots(self) -> int:
        return sum(each.concurrency for each in self.workers) if self.given is None else self.given

    def slots_of(self, job_type: str) -> int:
        """Those that may run it, as far as its own limits and those of its queue let them."""
        limits = self._limits(job_type)
        if self.given is None:
            per_process = [each.concurrency_per_process for each in limits]
            slots = sum(_least(each.concurrency, per_process) for each in self.workers if _runs(each, job_type))
        else:
            slots = self.given
        return _least(slots, [each.concurrency for each in limits])

    def turns_in(self, job_type: str) -> str:
        """The queue in which jobs of one subject take turns; empty where they may run beside each other."""
        known = registry.find(job_type)
        if known is None or known.key is not None:
            return ""
        queue = self.rules.of_queue(known.queue)
        policy = known.policy if known.policy != "standard" else queue.policy
        return known.queue if policy in ONE_RUNNING or queue.concurrency_per_key == 1 else ""

    def minutes_for(self, job_types: Iterable[str]) -> float | None:
        """That a subject with these types has in an hour; None: its jobs do not all take turns with each other."""
        queues = {self.turns_in(name) for name in job_types}
        return MINUTES if len(queues) <= 1 and "" not in queues else None

    def _limits(self, job_type: str) -> list[Limits]:
        known = registry.find(job_type)
        of_queue = [] if known is None else [self.rules.of_queue(known.queue)]
        return [limits_of(job_type), *of_queue]


def read(connection: BaseDatabaseWrapper, now: datetime, *, slots: int | None = None) -> AtOnce:
    rows = WorkerState.objects.using(connection.alias).exclude(kind=WorkerKind.SCHEDULER).only(*COLUMNS)
    return AtOnce([each for each in rows if status_of(each, now=now) == ALIVE], read_rules(connection), slots)


def _runs(worker: WorkerState, job_type: str) -> bool:
    known = registry.find(job_type)
    return job_type in worker.job_types and (known is None or Serving(worker.queues, worker.excluded)(known.queue))


def _least(number: int, limits: Sequence[int | None]) -> int:
    return min([number, *(each for each in limits if each is not None)])
