"""A schedule's turn: what it makes of a due row, and the row afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.definitions import draft
from jobs_app.ids import slot_id
from jobs_app.lifecycle.database import now_sql
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.relation import relation
from jobs_app.models import ScheduleState
from jobs_app.scheduler.grid import turn
from jobs_app.text import clean

COLUMNS = {
    "id": "int",
    "next_run_at": "time",
    "last_run_at": "time",
    "last_slot": "time",
    "failures": "int",
    "last_error": "text",
}
# One statement for a whole batch, where the ORM would write a CASE per column with a branch per row.
ADVANCE = f"""
UPDATE jobs_app_schedulestate AS schedule
   SET {", ".join(f"{name} = moved.{name}" for name in COLUMNS if name != "id")}, updated_at = {{now}}
  FROM ({{rows}}) AS moved WHERE schedule.id = moved.id
"""


@dataclass(kw_only=True)
class Step:
    """One row's turn: a job for its newest slot and the next slot to wait for, or why there is none."""

    row: ScheduleState
    next_run_at: datetime | None
    slot: datetime | None = None
    job: NewJob | None = None
    error: Exception | None = None

    @property
    def error_text(self) -> str:
        return clean(f"{type(self.error).__name__}: {self.error}") if self.error else ""


def plan(row: ScheduleState, now: datetime) -> Step:
    """Take the newest slot that has passed; go on with the first one after now. Never a slot that was taken before."""
    assert row.next_run_at is not None
    assert row.interval_seconds is not None
    due = turn(row.next_run_at, row.interval_seconds, now)
    if row.last_slot is not None and due.slot <= row.last_slot:
        later = turn(row.next_run_at, row.interval_seconds, max(now, row.last_slot))
        return Step(row=row, next_run_at=later.next_run_at)
    job = draft(row.job_type, row.payload, subject=row.subject or None)._replace(
        id=slot_id(row.job_type, row.subject, row.name, due.slot),
        slot_at=due.slot,
        schedule=row.pk,
    )
    return Step(row=row, next_run_at=due.next_run_at, slot=due.slot, job=job)


def failure(row: ScheduleState, error: Exception) -> Step:
    """The row stays where it is: its slot is not lost, and is tried again at the next tick."""
    return Step(row=row, next_run_at=row.next_run_at, error=error)


def advance(connection: BaseDatabaseWrapper, steps: Sequence[Step], now: datetime) -> None:
    """Write what the steps made of their rows."""
    rows, parameters = relation(connection, COLUMNS, [_columns(step, now) for step in steps])
    with connection.cursor() as cursor:
        cursor.execute(ADVANCE.format(rows=rows, now=now_sql(connection)), parameters)


def _columns(step: Step, now: datetime) -> tuple[Any, ...]:
    row = step.row
    return (
        row.pk,
        step.next_run_at,
        now if step.job else row.last_run_at,
        step.slot or row.last_slot,
        row.failures + 1 if step.error else 0,
        step.error_text,
    )
