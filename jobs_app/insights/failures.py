"""What failed and was not run again since, grouped by job type and error class: a bounded part, the newest ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Left

from jobs_app.insights import run_keys
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import exactly
from jobs_app.insights.run_order import NEWEST
from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.models import JobAttempt, State

MOST_FAILURES = 10_000  # looked at
MESSAGE_LENGTH = 200
LAST_DAY = RunFilter()


@dataclass(kw_only=True)
class FailureGroup:
    job_type: str
    error_class: str  # empty: it failed without an attempt of its own, or was marked so
    last_seen: datetime
    last_message: str
    runs: RunFilter  # these, and those that were not looked at
    count: int = 0


@dataclass(frozen=True, kw_only=True)
class Failures:
    groups: list[FailureGroup]  # the largest first
    count: int
    is_capped: bool  # there are more failures than were looked at


class _Failed(NamedTuple):
    job_type: str
    error_class: str | None
    finished_at: datetime
    message: str


def failures(connection: BaseDatabaseWrapper, chosen: RunFilter = LAST_DAY, *, most: int = MOST_FAILURES) -> Failures:
    """Of the runs that a filter means, those that failed and were not run again since."""
    asked = replace(chosen, state=State.FAILED.value, open=True)
    now = database_now(connection)
    with pinned_reading(connection):
        reading = run_keys.finished(connection, asked, now, NEWEST)
        failed = _read(connection, reading.first(most))
        is_capped = reading.is_more(most)
    return Failures(groups=_grouped(failed, asked), count=len(failed), is_capped=is_capped)


def _read(connection: BaseDatabaseWrapper, rows: QuerySet[Any]) -> list[_Failed]:
    last = JobAttempt.objects.using(connection.alias).filter(job_id=OuterRef("pk"), number=OuterRef("attempts"))
    asked = rows.annotate(error_class=Subquery(last.values("error_class")), message=Left("error", MESSAGE_LENGTH))
    return [_Failed(*row) for row in asked.values_list(*_Failed._fields)]


def _grouped(failed: Iterable[_Failed], asked: RunFilter) -> list[FailureGroup]:
    groups: dict[tuple[str, str], FailureGroup] = {}
    for each in sorted(failed, key=lambda each: each.finished_at, reverse=True):
        job_type, error_class = each.job_type, each.error_class or ""
        group = groups.setdefault(
            (job_type, error_class),
            FailureGroup(
                job_type=job_type,
                error_class=error_class,
                last_seen=each.finished_at,
                last_message=each.message,
                runs=replace(asked, job_type=job_type, error=exactly(error_class)),
            ),
        )
        group.count += 1
    return sorted(groups.values(), key=lambda group: (-group.count, group.job_type, group.error_class))
