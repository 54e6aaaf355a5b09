"""The numbers behind charts: one series of one job type or queue over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.rollups import WIDTH
from jobs_app.models import StatSample

MOST_POINTS = 10_000  # a week of minutes


@dataclass(frozen=True)
class Point:
    at: datetime  # where its minute begins
    value: float
    count: int  # of what it stands for


def series(
    connection: BaseDatabaseWrapper, series: str, name: str, since: datetime, *, limit: int = MOST_POINTS
) -> list[Point]:
    """The points from `since` on, oldest first; a minute in which there was nothing has none.

    Of a job type: `ended.succeeded`, `ended.failed`, `ended.cancelled`, and `duration.p50`, `.p95`, `.max`, `.sum` in
    seconds. Of a queue: `enqueued`, `finished`, and as of that minute `waiting`, `running`, `oldest_wait` in seconds.
    """
    rows = StatSample.objects.using(connection.alias).filter(series=series, name=name, seconds=WIDTH, at__gte=since)
    return [Point(*row) for row in rows.order_by("at").values_list("at", "value", "count")[:limit]]
