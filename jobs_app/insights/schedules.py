"""Schedules: what each of them does, or why it does nothing, when it comes next, and how its last run ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from jobs_app import cron
from jobs_app.catch_up import ON_TIME
from jobs_app.lifecycle.schedule_filter import (
    ACTIVE,
    DISABLED,
    DONE,
    PAUSED,
    RETIRED,
    STATES,
    ScheduleFilter,
    state_of,
)
from jobs_app.models import JobRun, Origin, ScheduleState
from jobs_app.preview import Slot, note
from jobs_app.registry import registry
from jobs_app.timetable import Timetable

__all__ = [
    "ACTIVE",
    "DISABLED",
    "DONE",
    "PAUSED",
    "RETIRED",
    "STATES",
    "coming",
    "find",
    "last_runs",
    "next_slots",
    "overdue_seconds",
    "slots_from",
    "state_of",
    "why",
]

MOST_SHOWN = 100
SLOTS_SHOWN = 5
ORDER = ("job_type", "subject", "name")
ALL = ScheduleFilter()


def find(
    connection: BaseDatabaseWrapper, wanted: ScheduleFilter = ALL, *, limit: int = MOST_SHOWN
) -> list[ScheduleState]:
    """Those that a filter means, by name. UnknownJobType for a type that nobody knows."""
    found = list(wanted.rows(connection).order_by(*ORDER)[:limit])
    if not found and wanted.job_type is not None:
        registry.get(wanted.job_type)  # a slip of the pen would look like a type without schedules
    return found


def why(row: ScheduleState) -> str:
    """Why it is in its state, where there is more to say; what fails says so before it is switched off."""
    state = state_of(row)
    if state == RETIRED and row.job_type not in registry:
        return _("its job type is gone from code")
    if state == RETIRED:
        return _("its source has it no more") if row.origin == Origin.SOURCE else _("code declares it no more")
    if state == DONE:
        return _("has had its last slot")
    return row.last_error


def next_slots(row: ScheduleState, *, count: int = SLOTS_SHOWN) -> list[datetime]:
    """When it comes next, if nobody changes anything; the first may be due already."""
    return _slots(row.timetable, row.next_run_at if state_of(row) == ACTIVE else None, count)


def coming(row: ScheduleState, *, count: int = SLOTS_SHOWN) -> list[Slot]:
    """The same on the schedule's own clock, with a note where clocks change."""
    return slots_from(row.timetable, row.next_run_at if state_of(row) == ACTIVE else None, count=count)


def slots_from(timetable: Timetable, first: datetime | None, *, count: int) -> list[Slot]:
    """`first` and those that follow. An interval and a single moment have no clock of their own."""
    slots = _slots(timetable, first, count)
    try:
        rule = cron.parse(timetable.cron, timetable.timezone) if timetable.cron else None
    except ValueError:
        rule = None
    if rule is None:
        return [Slot(at, at, "") for at in slots]
    return [Slot(at, at.astimezone(rule.clock.zone), note(rule, at)) for at in slots]


def overdue_seconds(row: ScheduleState, now: datetime) -> float | None:
    """How late its next slot is; None while ticks just take their time."""
    if state_of(row) != ACTIVE or row.next_run_at is None or now - row.next_run_at <= ON_TIME:
        return None
    return (now - row.next_run_at).total_seconds()


def last_runs(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> dict[int, JobRun]:
    """Of each schedule the run of its newest slot that has ended: one step into an index for each of them."""
    of_one = JobRun.objects.using(connection.alias).filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    schedules = ScheduleState.objects.using(connection.alias).filter(pk__in=[row.pk for row in rows])
    newest = [run_id for run_id in schedules.values_list(Subquery(of_one), flat=True) if run_id is not None]
    runs = JobRun.objects.using(connection.alias).filter(pk__in=newest).only("schedule", "state", "finished_at")
    return {run.schedule: run for run in runs if run.schedule is not None}


def _slots(timetable: Timetable, first: datetime | None, count: int) -> list[datetime]:
    slots: list[datetime] = []
    slot = first
    while slot is not None and len(slots) < count:
        slots.append(slot)
        try:
            slot = timetable.after(slot)
        except (ValueError, OverflowError):  # a cron that is none, say: its turn fails, and the row tells why
            break
    return slots
