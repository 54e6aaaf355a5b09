"""Plans beside the schedules that are there, and then made so: each by the act of an operator, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.importing.plans import Plan, slots_from, when_options
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.models import ScheduleState
from jobs_app.schedule_columns import timetable_columns

NEW, THERE, DIFFERS, CANNOT, LEFT_OUT = "new", "already there", "differs", "cannot be imported", "left out"
MADE, UPDATED = "made", "updated"
PER_QUERY = 500
WHEN, PAYLOAD, PAUSED, NEXT_SLOT = "when", "payload", "paused", "next slot"


@dataclass(frozen=True, kw_only=True)
class Import:
    """One row of the other package, and how it stands with its schedule here."""

    plan: Plan
    state: str
    row: ScheduleState | None = None
    differences: tuple[str, ...] = ()
    why: str = ""
    made_id: int | None = None

    @property
    def id(self) -> int | None:
        return self.made_id if self.row is None else self.row.pk

    @property
    def notes(self) -> tuple[str, ...]:
        """Told when it is imported, and not each time after."""
        if self.state == LEFT_OUT and self.row is not None and _will_run_first(self.row):
            return (f"its schedule here, {self.id}, has not run and still will: delete it, or it may run twice",)
        return () if self.state == THERE else self.plan.notes

    def slots(self, now: datetime, count: int) -> list[datetime]:
        """What comes next: of one that is there already, as it stands here."""
        if self.state == THERE and self.row is not None:
            return slots_from(self.plan.timetable, self.row.next_run_at, count)
        return self.plan.slots(now, count)


def compare(connection: BaseDatabaseWrapper, plans: Sequence[Plan]) -> list[Import]:
    there = _rows(connection, [each.found.name for each in plans if each.job_type])
    return [_compare(each, there.get(each.key)) for each in plans]


def store(imports: Sequence[Import], actor: Any, reason: str, *, update: bool) -> list[Import]:
    """Make what is new, and change what differs if that is wanted. An error takes back all of it."""
    with write_savepoint(jobs_connection()):
        stored = [_store(each, actor, _reason(reason, each), update=update) for each in imports]
        _pause_or_resume([each for each in stored if each.state in (MADE, UPDATED)], actor, reason)
    return stored


def _rows(connection: BaseDatabaseWrapper, names: Sequence[str]) -> dict[tuple[str, str, str], ScheduleState]:
    found: dict[tuple[str, str, str], ScheduleState] = {}
    for first in range(0, len(names), PER_QUERY):
        named = ScheduleState.objects.using(connection.alias).filter(subject="", name__in=names[first:][:PER_QUERY])
        found |= {(row.job_type, row.subject, row.name): row for row in named}
    return found


def _compare(plan: Plan, row: ScheduleState | None) -> Import:
    if plan.problem:
        return Import(plan=plan, state=LEFT_OUT if plan.found.is_needless else CANNOT, row=row, why=plan.problem)
    differences = () if row is None else _differences(plan, row)
    if row is not None and not differences:
        return Import(plan=plan, state=THERE, row=row)
    if plan.is_skipped and (row is None or WHEN in differences):
        why = f"its moment has passed: {plan.timetable.at:%Y-%m-%d %H:%M:%S}Z"
        return Import(plan=plan, state=LEFT_OUT, row=row, why=why)
    return Import(plan=plan, state=NEW if row is None else DIFFERS, row=row, differences=differences)


def _differences(plan: Plan, row: ScheduleState) -> tuple[str, ...]:
    """The slot counts until the first run here: from then on the other package knows nothing of it."""
    stands_at = plan.when.stands_at if plan.when else None
    has_run = _has_run(row)
    found = {
        WHEN: any(getattr(row, column) != value for column, value in timetable_columns(plan.timetable).items()),
        PAYLOAD: row.payload != plan.payload,
        PAUSED: row.paused != plan.is_paused,
        NEXT_SLOT: stands_at is not None and not has_run and row.next_run_at != stands_at,
    }
    return tuple(name for name, differs in found.items() if differs)


def _has_run(row: ScheduleState) -> bool:
    return row.last_run_at is not None or row.last_slot is not None


def _will_run_first(row: ScheduleState) -> bool:
    return not (row.paused or _has_run(row) or row.next_run_at is None)


def _store(one: Import, actor: Any, reason: str, *, update: bool) -> Import:
    plan = one.plan
    assert plan.when is not None or one.state in (CANNOT, LEFT_OUT)
    if one.state == NEW and plan.when is not None:
        job_type, subject, name = plan.key
        options = {"payload": dict(plan.payload), "from_slot": plan.when.stands_at, **when_options(plan.timetable)}
        acted = control.add_schedule(job_type, actor, reason, subject=subject, name=name, **options)
        return replace(one, state=MADE, made_id=acted.moved[0])
    if one.state == DIFFERS and update:
        if options := _changes(one):
            control.change_schedule(plan.key, actor, reason, **options)
        return replace(one, state=UPDATED)
    return one


def _changes(one: Import) -> dict[str, Any]:
    changes: dict[str, Any] = when_options(one.plan.timetable) if WHEN in one.differences else {}
    if PAYLOAD in one.differences:
        changes["payload"] = dict(one.plan.payload)
    is_moved = bool({WHEN, NEXT_SLOT} & set(one.differences))
    if is_moved and one.row is not None and (one.plan.timetable.at is not None or not _has_run(one.row)):
        changes["from_slot"] = one.plan.when.stands_at if one.plan.when else None
    return changes


def _pause_or_resume(stored: Sequence[Import], actor: Any, reason: str) -> None:
    """One that has not run here yet goes on where it stood there, one that has from now."""
    pausing = [each.id for each in stored if each.plan.is_paused and (each.row is None or not each.row.paused)]
    paused = [each.row for each in stored if not each.plan.is_paused and each.row is not None and each.row.paused]
    if pausing:
        control.pause_schedule(pausing, actor, reason)
    if fresh := [row.pk for row in paused if not _has_run(row)]:
        control.resume_schedule(fresh, actor, reason, backfill=True)
    if others := [row.pk for row in paused if _has_run(row)]:
        control.resume_schedule(others, actor, reason)


def _reason(reason: str, one: Import) -> str:
    """With what people wrote there about it, which has no other place here."""
    return ": ".join(filter(None, (reason, one.plan.found.description)))
