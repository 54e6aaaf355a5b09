"""One reason to wait, and the run that is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from jobs_app.insights import windows
from jobs_app.lifecycle.rules import Rules, limits_of, read_rules
from jobs_app.lifecycle.workforce import Workforce, read_workforce
from jobs_app.limits import Limits, QueueRules
from jobs_app.models import Gate, Hold, Job, Run
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.windows import Deferral

TargetKind: TypeAlias = Literal["run", "queue", "job_type", "subject", "workers", "windows", "everything"]


class Target(NamedTuple):
    """Where somebody looks next, or does something about it. What shows it knows the address."""

    kind: TargetKind
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Reason:
    kind: str
    sentence: str  # in the language of whoever asks, without a full stop
    target: Target | None = None
    until: datetime | None = None  # None: nobody can know


@dataclass(frozen=True)
class Case:
    """A queued run at one moment, with what several reasons are found by, read once."""

    connection: BaseDatabaseWrapper
    run: Run
    now: datetime

    @cached_property
    def rules(self) -> Rules:
        return read_rules(self.connection)

    @cached_property
    def workforce(self) -> Workforce:
        return read_workforce(self.connection, self.now)

    @property
    def queue_rules(self) -> QueueRules:
        return self.rules.of_queue(self.run.queue)

    @property
    def type_limits(self) -> Limits:
        return limits_of(self.run.job_type)

    @property
    def gate(self) -> int:
        """What it must pass by the rules of now, whatever they were when it was stored."""
        return self.rules.gate_of(self.run.queue, self.run.job_type, self.run.policy)

    @cached_property
    def is_before_gate(self) -> bool:
        """One that is open has passed it, unless the rules have changed: then whoever claims it puts it back there."""
        if self.gate == Gate.NONE or self.run.hold != Hold.OPEN:
            return self.run.hold != Hold.OPEN
        passed = Job.objects.using(self.connection.alias).filter(pk=self.run.pk).values_list("gate", flat=True).first()
        return passed is not None and passed < self.gate

    @cached_property
    def deferral(self) -> Deferral | None:
        return windows.holding(self.connection, self.run, self.now)

    @property
    def is_chore(self) -> bool:
        return self.run.queue == SYSTEM_QUEUE


def told(moment: datetime) -> str:
    """A moment inside a sentence, by the clock of whoever reads it."""
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"
