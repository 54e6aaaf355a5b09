"""The job of a slot, and how it is stored: one for each, whoever makes it, and however often."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.drafts import Drafts
from jobs_app.ids import slot_id
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.models import Run, ScheduleState
from jobs_app.registry import registry


class SlotDrafts:
    """What the slots of one job type have in common is put together once for all of them."""

    def __init__(self) -> None:
        self._drafts: dict[str, Drafts] = {}

    def job(self, row: ScheduleState, slot: datetime, delay: float) -> NewJob:
        """The job of a schedule's slot, to start in `delay` seconds. Raises what an enqueue would."""
        drafts = self._drafts.get(row.job_type)
        if drafts is None:
            drafts = self._drafts[row.job_type] = Drafts(registry.get(row.job_type), {})
        return drafts.draft(row.payload, row.subject)[0]._replace(
            id=slot_id(row.job_type, row.subject, row.name, slot),
            delay=delay,
            slot_at=slot,
            schedule=row.pk,
        )


def known_slots(connection: BaseDatabaseWrapper, ids: Sequence[UUID]) -> set[UUID]:
    """Those that have a run: it waits, it goes on, or it is history."""
    return set(Run.objects.using(connection.alias).filter(pk__in=ids).values_list("pk", flat=True))


def enqueue_slots(connection: BaseDatabaseWrapper, jobs: Sequence[NewJob]) -> set[UUID]:
    """Store the jobs, but for slots that have one, under the locks of their schedules; the ids that are new.

    Schedules are deleted and made anew, and slots of the past are made by hand. Nor is one stored whose key another
    one has that is queued or running, where the policy lets no second one in.
    """
    known = known_slots(connection, [job.id for job in jobs])
    new = [job for job in jobs if job.id not in known]
    return {job.id for job, stored in zip(new, enqueue(new), strict=True) if stored.created}
