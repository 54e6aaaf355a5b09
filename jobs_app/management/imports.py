"""Periodic tasks of another package as the command line tells them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobs_app.cron.words import told
from jobs_app.importing.plans import Plan
from jobs_app.importing.storing import CANNOT, LEFT_OUT, Import
from jobs_app.management.output import Output
from jobs_app.redaction import redact
from jobs_app.timetable import Timetable

HEADERS = ("OLD NAME", "JOB TYPE", "NAME", "WHEN", "NEXT", "THEN", "PAYLOAD", "PAUSED", "STATE")
WITHOUT = ("OLD NAME", "TASK", "STATE", "WHY")
SLOTS_TOLD = 3


def tell(imports: Sequence[Import], now: datetime, out: Output) -> None:
    """What becomes a schedule, and what does not."""
    out.table(HEADERS, [_line(each, now) for each in imports if not _is_without(each)])
    if without := [each for each in imports if _is_without(each)]:
        out.line()
        out.table(WITHOUT, [(_old(each.plan), each.plan.found.task, each.state, each.why) for each in without])
    for each in imports:
        for note in each.notes:
            out.note(f"{_old(each.plan)}: {note}.")


def data(one: Import, now: datetime) -> dict[str, Any]:
    plan = one.plan
    known: dict[str, Any] = {"old_name": plan.found.old_name, "task": plan.found.task, "state": one.state}
    known |= {"why": one.why, "id": one.id, "differences": one.differences, "notes": one.notes}
    if plan.job_type is None or plan.when is None:
        return known | dict.fromkeys(("job_type", "name", "when", "timezone", "words", "next", "payload", "paused"))
    timetable = plan.timetable
    return known | {
        "job_type": plan.job_type.name,
        "name": plan.found.name,
        "when": str(timetable),
        "timezone": timetable.timezone if timetable.cron else None,
        "words": told(timetable),
        "next": one.slots(now, SLOTS_TOLD),
        "payload": redact(plan.payload),
        "paused": plan.is_paused,
    }


def _line(one: Import, now: datetime) -> tuple[object, ...]:
    plan = one.plan
    coming, after, *_ = [*one.slots(now, 2), None, None]
    names = (_old(plan), *plan.key[::2], _when(plan.timetable))
    state = f"{one.state}: {', '.join(one.differences)}" if one.differences else one.state
    return (*names, coming, after, redact(plan.payload) or None, "yes" if plan.is_paused else "no", state)


def _when(timetable: Timetable) -> str:
    words = told(timetable)
    return f"{words}, {timetable.timezone}" if timetable.cron and timetable.timezone != "UTC" else words


def _is_without(one: Import) -> bool:
    return one.state in (CANNOT, LEFT_OUT)


def _old(plan: Plan) -> str:
    return plan.found.old_name
