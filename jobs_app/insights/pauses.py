"""What is paused, by whom and why."""

from __future__ import annotations

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Q, QuerySet, When

from jobs_app.lifecycle.pauses import in_force
from jobs_app.models import Pause, Run, Scope, State
from jobs_app.registry import SYSTEM_QUEUE

WIDEST_FIRST = (Scope.ALL, Scope.QUEUE, Scope.JOB_TYPE, Scope.SUBJECT)


def newest(connection: BaseDatabaseWrapper, now: datetime, *, limit: int = 100) -> list[Pause]:
    """The pauses in force: what stops most first, then the newest. Many subjects never hide a pause of everything."""
    width = Case(*(When(scope=scope, then=place) for place, scope in enumerate(WIDEST_FIRST)))
    return list(_in_force(connection, now).order_by(width, "-created_at", "-pk")[:limit])


def holding(connection: BaseDatabaseWrapper, run: Run, now: datetime) -> list[Pause]:
    """Those for which this run waits, newest first."""
    if run.state != State.QUEUED or run.queue == SYSTEM_QUEUE:
        return []
    its = Q(scope=Scope.ALL) | Q(scope=Scope.QUEUE, name=run.queue) | Q(scope=Scope.JOB_TYPE, name=run.job_type)
    if run.subject:
        its |= Q(scope=Scope.SUBJECT, name=run.subject)
    return list(_in_force(connection, now).filter(its))


def of(connection: BaseDatabaseWrapper, scope: str, name: str, now: datetime) -> Pause | None:
    """The one in force for exactly this."""
    return _in_force(connection, now).filter(scope=scope, name=name).first()


def _in_force(connection: BaseDatabaseWrapper, now: datetime) -> QuerySet[Pause]:
    return Pause.objects.using(connection.alias).filter(in_force(now)).order_by("-created_at", "-pk")
