"""Schedules: what each of them does, or why it does nothing, when it comes next, and how its last run ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import OuterRef, Q, Subquery

from jobs_app.models import JobRun, Origin, ScheduleState
from jobs_app.registry import registry

ACTIVE = "active"
PAUSED = "paused"  # until somebody resumes it
DISABLED = "disabled"  # failed for too long, and was switched off
RETIRED = "retired"  # code has it no more
DONE = "done"  # has had its last slot

_TICKS = Q(retired=False, disabled=False, paused=False)
# A schedule is in one of them; where several could be said, the one that keeps it from coming back longest.
STATES: dict[str, Q] = {
    RETIRED: Q(retired=True),
    DISABLED: Q(retired=False, disabled=True),
    PAUSED: Q(retired=False, disabled=False, paused=True),
    DONE: _TICKS & Q(next_run_at=None),
    ACTIVE: _TICKS & Q(next_run_at__isnull=False),
}
MOST_SHOWN = 100
SLOTS_SHOWN = 5


def find(
    connection: BaseDatabaseWrapper,
    *,
    job_type: str | None = None,
    subject: str | None = None,
    state: str | None = None,
    limit: int = MOST_SHOWN,
) -> list[ScheduleState]:
    """Those of a job type, of a subject, in a state, by name. UnknownJobType for a type that nobody knows."""
    rows = ScheduleState.objects.using(connection.alias).filter(STATES[state] if state else Q())
    if job_type is not None:
        rows = rows.filter(job_type=job_type)
    if subject is not None:
        rows = rows.filter(subject=subject)
    found = list(rows.order_by("job_type", "subject", "name")[:limit])
    if not found and job_type is not None:
        registry.get(job_type)  # a slip of the pen would look like a type without schedules
    return found


def state_of(row: ScheduleState) -> str:
    if row.retired:
        return RETIRED
    if row.disabled:
        return DISABLED
    if row.paused:
        return PAUSED
    return DONE if row.next_run_at is None else ACTIVE


def why(row: ScheduleState) -> str:
    """Why it is in its state, where there is more to say; what fails says so before it is switched off."""
    state = state_of(row)
    if state == RETIRED and row.job_type not in registry:
        return "its job type is gone from code"
    if state == RETIRED:
        return "its source has it no more" if row.origin == Origin.SOURCE else "code declares it no more"
    if state == DONE:
        return "has had its last slot"
    return row.last_error


def next_slots(row: ScheduleState, *, count: int = SLOTS_SHOWN) -> list[datetime]:
    """When it comes next, if nobody changes anything; the first may be due already."""
    slots: list[datetime] = []
    slot = row.next_run_at if state_of(row) == ACTIVE else None
    while slot is not None and len(slots) < count:
        slots.append(slot)
        try:
            slot = row.timetable.after(slot)
        except (ValueError, OverflowError):  # a cron that is none, say: its turn fails, and the row tells why
            break
    return slots


def last_runs(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[int, JobRun]:
    """Of each schedule the run of its newest slot that has ended: one step into an index for each of them."""
    of_one = JobRun.objects.using(connection.alias).filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    schedules = ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows])
    newest = [run_id for run_id in schedules.values_list(Subquery(of_one), flat=True) if run_id is not None]
    runs = JobRun.objects.using(connection.alias).filter(pk__in=newest).only("schedule", "state", "finished_at")
    return {run.schedule: run for run in runs if run.schedule is not None}
