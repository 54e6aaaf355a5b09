"""Which schedules are meant: one meaning of a filter for lists, for counts and for acts upon all that it finds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.catch_up import ON_TIME
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Origin, ScheduleState
from jobs_app.options import did_you_mean

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
OVERDUE = "overdue"  # its next slot is late, and nobody ticks it
FAILING = "failing"  # its last ticks failed, and it is not switched off yet
TROUBLES = (OVERDUE, FAILING)


def in_trouble(trouble: str, now: datetime) -> Q:
    if trouble == FAILING:
        return _TICKS & Q(failures__gt=0)
    return _TICKS & Q(next_run_at__lt=now - ON_TIME)


def state_of(row: ScheduleState) -> str:
    if row.retired:
        return RETIRED
    if row.disabled:
        return DISABLED
    if row.paused:
        return PAUSED
    return DONE if row.next_run_at is None else ACTIVE


@dataclass(frozen=True, kw_only=True)
class ScheduleFilter:
    """What is None, or an empty search, does not matter. Where nothing does, all schedules are meant."""

    job_type: str | None = None
    subject: str | None = None
    state: str | None = None
    origin: str | None = None
    trouble: str | None = None
    search: str = ""  # in job type, subject and name, whatever the case

    def __post_init__(self) -> None:
        for name, known in (("state", list(STATES)), ("origin", Origin.values), ("trouble", TROUBLES)):
            given = getattr(self, name)
            if given is not None and given not in known:
                raise OptionInvalid(f"schedules: there is no {name} {given!r}.{did_you_mean(given, known)}")

    @property
    def given(self) -> dict[str, str]:
        """What matters, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None and (value or name != "search")}

    def rows(self, connection: BaseDatabaseWrapper) -> QuerySet[ScheduleState]:
        same = {name: value for name, value in self.given.items() if name in ("job_type", "subject", "origin")}
        rows = ScheduleState.objects.using(connection.alias).filter(**same)
        if self.state is not None:
            rows = rows.filter(STATES[self.state])
        if self.trouble is not None:
            rows = rows.filter(in_trouble(self.trouble, database_now(connection)))
        if self.search:
            rows = rows.filter(
                Q(job_type__icontains=self.search) | Q(subject__icontains=self.search) | Q(name__icontains=self.search)
            )
        return rows
