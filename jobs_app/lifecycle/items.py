"""What workers found and reported, one row per key of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.models import JobItem

ROWS_PER_STATEMENT = 500


def store_items(connection: BaseDatabaseWrapper, run_id: UUID, items: Mapping[str, Any]) -> int:
    """Keep each under its key, the newest where it was there before; how many are new. Whoever calls has the run's job
    locked, so that nobody else reports for it between the look and the write."""
    rows = JobItem.objects.using(connection.alias)
    known = rows.filter(job_id=run_id, key__in=list(items)).count() if items else 0
    rows.bulk_create(
        [JobItem(job_id=run_id, key=key, data=data) for key, data in items.items()],
        batch_size=ROWS_PER_STATEMENT,
        update_conflicts=True,
        update_fields=["data", "reported_at"],
        unique_fields=["job_id", "key"],
    )
    return len(items) - known
