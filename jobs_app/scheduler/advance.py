"""What the turns of schedules made of their rows, written by one statement for a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F
from django.db.models.functions import Coalesce, Least

from jobs_app.lifecycle.relation import relation
from jobs_app.models import ScheduleState
from jobs_app.scheduler.plan import Step

MOST_FAILURES = 5  # turns that failed in a row
FAILING_FOR = timedelta(minutes=10)  # at least, however often it was tried: a host's database may be away for a while

COLUMNS = {
    "id": "int",
    "next_run_at": "time",
    "last_run_at": "time",
    "last_slot": "time",
    "skipped_slots": "int",
    "failures": "int",
    "failing_since": "time",
    "disabled": "bool",
    "last_error": "text",
    "updated_at": "time",
}
# Where the ORM would write a CASE per column with a branch per row.
ADVANCE = f"""
UPDATE jobs_app_schedulestate AS schedule
   SET {", ".join(f"{name} = moved.{name}" for name in COLUMNS if name != "id")}
  FROM ({{rows}}) AS moved WHERE schedule.id = moved.id
"""


def advance(connection: BaseDatabaseWrapper, steps: Sequence[Step], now: datetime) -> None:
    rows, parameters = relation(connection, COLUMNS, [_columns(step, now) for step in steps])
    with connection.cursor() as cursor:
        cursor.execute(ADVANCE.format(rows=rows), parameters)


def is_given_up(step: Step, now: datetime) -> bool:
    """Has it failed so often and for so long that only somebody who repairs it can help?"""
    row = step.row
    is_old = row.failing_since is not None and now - row.failing_since >= FAILING_FOR
    return step.error is not None and row.failures + 1 >= MOST_FAILURES and is_old


def set_aside(connection: BaseDatabaseWrapper, row_id: int, error: Exception, now: datetime) -> Step:
    """Count the failure of a row that cannot be read, or not be written back, without doing either."""
    rows = ScheduleState.objects.using(connection.alias).filter(pk=row_id)
    row = ScheduleState(pk=row_id, **rows.values("job_type", "subject", "name", "last_error").get())
    long_ago = now - FAILING_FOR
    if rows.filter(failures__gte=MOST_FAILURES - 1, failing_since__lte=long_ago).exists():
        row.failures, row.failing_since = MOST_FAILURES - 1, long_ago
    step = Step(row=row, next_run_at=None, error=error)
    rows.update(
        failures=Least(F("failures"), MOST_FAILURES) + 1,
        failing_since=Coalesce(F("failing_since"), now),
        disabled=is_given_up(step, now),
        last_error=step.error_text,
        updated_at=now,
    )
    return step


def _columns(step: Step, now: datetime) -> tuple[Any, ...]:
    row = step.row
    return (
        row.pk,
        step.next_run_at,
        now if step.jobs else row.last_run_at,
        step.last_slot,
        row.skipped_slots + step.skipped,
        row.failures + 1 if step.error else 0,
        (row.failing_since or now) if step.error else None,
        is_given_up(step, now),
        step.error_text,
        now,
    )
