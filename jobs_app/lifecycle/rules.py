"""The rules of each queue: what operators set in `QueueState`, else what the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.limits import NO_RULES, Limits, QueueRules, Rate, gate
from jobs_app.models import QueueState
from jobs_app.registry import SYSTEM_QUEUE, registry

NO_LIMITS = Limits()


@dataclass(frozen=True)
class Rules:
    """As of one moment; workers read them anew every second."""

    queues: Mapping[str, QueueRules] = field(default_factory=dict)

    def of_queue(self, name: str) -> QueueRules:
        return NO_RULES if name == SYSTEM_QUEUE else self.queues.get(name, NO_RULES)

    def gate_of(self, queue: str, job_type: str, policy: str) -> int:
        if queue == SYSTEM_QUEUE:
            return gate(policy)  # the app's own chores are exempt from limits
        return gate(policy, self.of_queue(queue), limits_of(job_type))


def limits_of(job_type: str) -> Limits:
    known = registry.find(job_type)
    return NO_LIMITS if known is None else known.limits


def read_rules(connection: BaseDatabaseWrapper) -> Rules:
    declared = dict(get_settings().queues)
    for row in QueueState.objects.using(connection.alias).all():
        declared[row.name] = _from_row(row, policy=declared.get(row.name, NO_RULES).policy)
    return Rules(declared)


def _from_row(row: QueueState, *, policy: str) -> QueueRules:
    """A row replaces the limits that the settings give. A policy is code: it decides what an enqueue gets."""
    return QueueRules(
        policy=policy,
        concurrency=row.max_running,
        concurrency_per_key=row.max_running_per_key,
        concurrency_per_process=row.max_running_per_process,
        rate=_rate(row.rate_count, row.rate_seconds),
        rate_per_key=_rate(row.rate_per_key_count, row.rate_per_key_seconds),
        fair_share=row.fair_share,
        ageing=row.ageing_seconds,
    )


def _rate(count: int | None, seconds: float | None) -> Rate | None:
    return Rate(count, seconds) if count and seconds else None
