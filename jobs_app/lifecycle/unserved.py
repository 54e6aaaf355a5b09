"""Jobs that are due for long and that no live worker would start: their queue is nobody's, or their type unknown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.lifecycle.gated import gated_queues
from jobs_app.lifecycle.lanes import find_lanes
from jobs_app.lifecycle.pauses import Pauses, read_pauses
from jobs_app.lifecycle.workforce import Workforce
from jobs_app.models import Hold, Job, State
from jobs_app.registry import SYSTEM_QUEUE, registry

WAITING_SECONDS = 600.0  # where the preset of the type says nothing
HEAD = 20  # rows of each lane that are looked at: what nobody claims is what stays in front


def find_unserved(connection: BaseDatabaseWrapper, workforce: Workforce, now: datetime) -> Iterator[tuple[Job, str]]:
    """Of each lane some of the oldest, each with the reason. What a pause holds is not among them."""
    pauses = read_pauses(connection)
    for rows in _heads(connection, pauses):
        for job in rows:
            if (why := _why(job, workforce)) and _is_due_for_long(job, now) and not _is_paused(job, pauses):
                yield job, why


def _heads(connection: BaseDatabaseWrapper, pauses: Pauses) -> Iterator[QuerySet[Job]]:
    """The first rows of each lane, in the order of the index that has it."""
    queued = Job.objects.using(connection.alias).filter(state=State.QUEUED).defer("payload", "meta")
    for queue, priority in find_lanes(connection):
        if _is_open(queue, pauses):
            lane = queued.filter(hold=Hold.OPEN, queue=queue, priority=priority)
            yield lane.order_by("run_at", "id")[:HEAD]
    for queue in gated_queues(connection):
        if _is_open(queue, pauses):
            for hold in (Hold.NEW, Hold.LIMIT):
                gate = queued.filter(queue=queue, hold=hold)
                yield gate.order_by("job_type", "-priority", "run_at", "id")[:HEAD]


def _is_open(queue: str, pauses: Pauses) -> bool:
    return queue != SYSTEM_QUEUE and pauses.allows(queue)


def _why(job: Job, workforce: Workforce) -> str | None:
    known = registry.find(job.job_type)
    program = "python -m jobs_app.client" if known and known.remote else "manage.py runworker"
    start = f"start one with {program} --queues {job.queue}"
    if not workforce.serves(job.queue):
        return f"no live worker serves queue {job.queue}: {start}"
    if workforce.knows(job.queue, job.job_type):
        return None
    if known and known.remote:
        return f"no remote worker pulls from queue {job.queue}: {start}"
    return f"no live worker of queue {job.queue} knows job type {job.job_type}: start one whose code has it"


def _is_due_for_long(job: Job, now: datetime) -> bool:
    known = registry.find(job.job_type)
    given = known.preset.waiting_stale_after if known and known.preset else None
    return now - job.run_at > timedelta(seconds=given or WAITING_SECONDS)


def _is_paused(job: Job, pauses: Pauses) -> bool:
    return job.job_type in pauses.job_types or job.subject in pauses.subjects
