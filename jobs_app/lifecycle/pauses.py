"""What is paused now. The rows of `Pause` are the truth: enqueues look at them, and whoever claims does so each second,
so that a pause holds within two seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

from jobs_app.lifecycle.database import now_parameter, now_sql
from jobs_app.models import Scope
from jobs_app.registry import SYSTEM_QUEUE

ROWS = "SELECT scope, name, until IS NULL OR until > {now}, parked FROM jobs_app_pause"
PARKING = (Scope.JOB_TYPE, Scope.SUBJECT)  # jobs of these are parked; of the others, workers drop whole lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """What may not start at this moment. The app's own chores always may."""

    everything: bool = False
    queues: frozenset[str] = frozenset()
    job_types: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    are_unfinished: bool = False  # jobs are still to be parked, or to be opened again

    def allows(self, queue: str) -> bool:
        """May jobs of this queue start, but for those whose type or subject is paused?"""
        return queue == SYSTEM_QUEUE or not (self.everything or queue in self.queues)


def read_pauses(connection: BaseDatabaseWrapper) -> Pauses:
    """One small query, so that whoever claims can ask each second."""
    with connection.cursor() as cursor:
        cursor.execute(ROWS.format(now=now_sql(connection)), {"now": now_parameter(connection)})
        rows = cursor.fetchall()
    found = [(scope, name) for scope, name, holds, _ in rows if holds]
    named = {scope: frozenset(name for its, name in found if its == scope) for scope in Scope.values}
    return Pauses(
        everything=bool(named[Scope.ALL]),
        queues=named[Scope.QUEUE],
        job_types=named[Scope.JOB_TYPE],
        subjects=named[Scope.SUBJECT],
        are_unfinished=any(not holds or (scope in PARKING and not parked) for scope, _, holds, parked in rows),
    )


def in_force(now: datetime) -> Q:
    """The same for rows of `Pause`."""
    return Q(until=None) | Q(until__gt=now)
