"""The rules of each queue: what operators set in `QueueState`, else what the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.limits import NO_RULES, Limits, QueueRules, Rate
from jobs_app.models import QueueState
from jobs_app.registry import SYSTEM_QUEUE, gate_in, registry

NO_LIMITS = Limits()

# The columns of a row. A policy has none: it decides what an enqueue gets, so it is code.
COLUMNS = {
    "concurrency": "max_running",
    "concurrency_per_key": "max_running_per_key",
    "concurrency_per_process": "max_running_per_process",
    "fair_share": "fair_share",
    "ageing": "ageing_seconds",
}
RATES = ("rate", "rate_per_key")


@dataclass(frozen=True)
class Rules:
    """As of one moment; workers read them anew every second."""

    queues: Mapping[str, QueueRules] = field(default_factory=dict)

    def of_queue(self, name: str) -> QueueRules:
        return NO_RULES if name == SYSTEM_QUEUE else self.queues.get(name, NO_RULES)

    def gate_of(self, queue: str, job_type: str, policy: str) -> int:
        return gate_in(queue, policy, self.of_queue(queue), limits_of(job_type))


def limits_of(job_type: str) -> Limits:
    known = registry.find(job_type)
    return NO_LIMITS if known is None else known.limits


def read_rules(connection: BaseDatabaseWrapper) -> Rules:
    declared = dict(get_settings().queues)
    for row in QueueState.objects.using(connection.alias).all():
        declared[row.name] = _from_row(row, policy=declared.get(row.name, NO_RULES).policy)
    return Rules(declared)


def columns_of(rules: Mapping[str, Any]) -> dict[str, Any]:
    """These rules as columns of a row."""
    columns = {COLUMNS[name]: value for name, value in rules.items() if name in COLUMNS}
    for name in RATES:
        if name in rules:
            rate: Rate | None = rules[name]
            columns |= {f"{name}_count": rate and rate.starts, f"{name}_seconds": rate and rate.seconds}
    return columns


def _from_row(row: QueueState, *, policy: str) -> QueueRules:
    """A row replaces all the limits that the settings give."""
    plain = {name: getattr(row, column) for name, column in COLUMNS.items()}
    rates: dict[str, Any] = {
        name: _rate(getattr(row, f"{name}_count"), getattr(row, f"{name}_seconds")) for name in RATES
    }
    return QueueRules(policy=policy, **plain, **rates)


def _rate(count: int | None, seconds: float | None) -> Rate | None:
    return Rate(count, seconds) if count and seconds else None
