"""One schedule: its last runs, what operators changed about it, and what they did to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

from jobs_app.insights.runs import status_of
from jobs_app.lifecycle.control.acting import LONGEST_TARGET
from jobs_app.models import ControlEvent, Job, JobRun, Origin, ScheduleState
from jobs_app.registry import registry
from jobs_app.schedule_columns import columns_of
from jobs_app.text import clean

RUNS_SHOWN = 20
EVENTS_SHOWN = 20
RUN_COLUMNS = ("id", "state", "attempts", "run_at", "slot_at", "queued_at")


@dataclass(frozen=True, kw_only=True)
class SlotRun:
    """A run that the schedule made, live or finished."""

    id: UUID
    status: str
    slot_at: datetime | None
    queued_at: datetime


@dataclass(frozen=True, kw_only=True)
class Override:
    """A column that an operator changed; what code says, where code alone decides it."""

    column: str
    label: str
    value: Any
    is_known: bool
    code_value: Any = None


def get(connection: BaseDatabaseWrapper, pk: int) -> ScheduleState | None:
    return ScheduleState.objects.using(connection.alias).filter(pk=pk).first()


def recent_runs(
    connection: BaseDatabaseWrapper, row: ScheduleState, now: datetime, *, limit: int = RUNS_SHOWN
) -> list[SlotRun]:
    """Those of the newest slots, newest first: ids sort by the time of the slot. Each table by its own index."""
    found: list[tuple[Any, ...]] = []
    for model in (Job, JobRun):
        rows = model.objects.using(connection.alias).filter(schedule=row.pk).order_by("-id")
        found += rows.values_list(*RUN_COLUMNS)[:limit]
    newest = sorted(found, reverse=True)[:limit]
    return [
        SlotRun(
            id=run_id,
            status=status_of(state=state, attempts=attempts, run_at=run_at, now=now),
            slot_at=slot_at,
            queued_at=queued_at,
        )
        for run_id, state, attempts, run_at, slot_at, queued_at in newest
    ]


def overrides_of(row: ScheduleState) -> list[Override]:
    """A source may say something else for each subject, and is asked by the scheduler only."""
    known = registry.find(row.job_type)
    code: dict[str, Any] = {}
    if row.origin == Origin.CODE and known is not None and known.schedule.timetable is not None:
        code = columns_of(known.schedule, subject=row.subject)
    return [
        Override(
            column=column,
            label=_label(column),
            value=value,
            is_known=column in code,
            code_value=code.get(column),
        )
        for column, value in sorted(row.overrides.items())
    ]


def events_of(connection: BaseDatabaseWrapper, row: ScheduleState, *, limit: int = EVENTS_SHOWN) -> list[ControlEvent]:
    """What was done to it, to all of its job type and to all of its subject, newest first."""
    about = Q(target_kind="schedule", target=clean(str(row), LONGEST_TARGET))
    about |= Q(target_kind="job_type", target=row.job_type)
    if row.subject:
        about |= Q(target_kind="subject", target=row.subject)
    rows = ControlEvent.objects.using(connection.alias).filter(about)
    return list(rows.order_by("-at", "-id")[:limit])


def _label(column: str) -> str:
    names = {field.name: str(field.verbose_name) for field in ScheduleState._meta.fields}
    return names.get(column, column)
