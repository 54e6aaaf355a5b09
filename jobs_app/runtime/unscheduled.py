"""The app's own chores where no scheduler lives: workers see to it that they are done all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.drafts import Drafts
from jobs_app.lifecycle.enqueue import enqueue_one
from jobs_app.lifecycle.presence import is_any_alive
from jobs_app.lifecycle.turns import take_turn
from jobs_app.models import ScheduleState, WorkerKind
from jobs_app.registry import SYSTEM_NAMES, SYSTEM_QUEUE, JobType, registry


def enqueue_own(connection: BaseDatabaseWrapper, go_on: Callable[[], bool]) -> bool:
    """Enqueue each that is due, one process of all at a time. A schedule that an operator paused stays paused."""
    if get_settings().scheduler_enabled and not is_any_alive(connection, WorkerKind.SCHEDULER):
        for job_type, seconds in _due_by(connection):
            if take_turn(connection, job_type.name, seconds=seconds):
                enqueue_one(Drafts(job_type, {}).draft({})[0])
    return False


def _due_by(connection: BaseDatabaseWrapper) -> Iterator[tuple[JobType, float]]:
    """Each with the seconds between two of it."""
    paused = ScheduleState.objects.using(connection.alias).filter(job_type__startswith=SYSTEM_NAMES, paused=True)
    names = set(paused.values_list("job_type", flat=True))
    for job_type in registry:
        timetable = job_type.schedule.timetable
        if job_type.queue == SYSTEM_QUEUE and timetable is not None and timetable.every and job_type.name not in names:
            yield job_type, timetable.every
