"""Which of some workers are still at it."""

from __future__ import annotations

from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count

from jobs_app.insights.processes import LIVING, all_of
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, State


def still_there(connection: BaseDatabaseWrapper, workers: Collection[str]) -> dict[str, int]:
    """Those that live, or have a job in their hands, and how many. One that was killed has it until it is recovered."""
    found = all_of(connection, database_now(connection)).found
    living = [each.row.pk for each in found if each.status in LIVING and each.row.pk in workers]
    running = Job.objects.using(connection.alias).filter(state=State.RUNNING, worker_id__in=workers)
    return dict.fromkeys(living, 0) | dict(running.order_by().values_list("worker_id").annotate(Count("pk")))
