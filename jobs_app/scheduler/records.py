"""What a tick leaves in the audit: slots that were missed and get no job, and schedules that it gave up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.control.acting import LONGEST_TARGET
from jobs_app.models import ControlEvent
from jobs_app.scheduler.advance import is_given_up
from jobs_app.scheduler.plan import Step
from jobs_app.text import clean

ACTOR = "scheduler"
MISSED = timedelta(seconds=60)  # a slot passed over sooner is no outage, only a tick that was late; the row counts it
MOST_NAMED = 20  # schedules in one event
MOST_SKIPPED = 2**31 - 1  # that its column can tell: hundreds of schedules of a second each pass it in two months


def record(connection: BaseDatabaseWrapper, steps: Sequence[Step], now: datetime) -> None:
    """In the transaction of the turns. One event for all schedules of a job type in a batch, however many."""
    missed = [step for step in steps if step.skipped_from is not None and now - step.skipped_from >= MISSED]
    missed.sort(key=lambda step: step.row.job_type)
    events = [_missed(name, list(found)) for name, found in groupby(missed, key=lambda step: step.row.job_type)]
    events += [_given_up(step) for step in steps if is_given_up(step, now)]
    if events:
        ControlEvent.objects.using(connection.alias).bulk_create(events)


def _missed(job_type: str, steps: Sequence[Step]) -> ControlEvent:
    return ControlEvent(
        actor=ACTOR,
        action="skip_slots",
        target_kind="job_type" if len(steps) > 1 else "schedule",
        target=clean(job_type if len(steps) > 1 else str(steps[0].row), LONGEST_TARGET),
        reason="missed, and passed over as the schedule's catch-up says",
        skipped=min(MOST_SKIPPED, sum(step.skipped for step in steps)),
        detail={"schedules": len(steps), "slots": _named(steps)},
    )


def _named(steps: Iterable[Step]) -> list[dict[str, Any]]:
    worst = sorted(steps, key=lambda step: -step.skipped)[:MOST_NAMED]
    return [
        {
            "schedule": str(step.row),
            "skipped": step.skipped,
            "from": step.skipped_from.isoformat() if step.skipped_from else None,
            "catch_up": step.row.catch_up,
        }
        for step in worst
    ]


def _given_up(step: Step) -> ControlEvent:
    return ControlEvent(
        actor=ACTOR,
        action="disable",
        target_kind="schedule",
        target=clean(str(step.row), LONGEST_TARGET),
        reason=step.error_text,
        moved=1,
        detail={"failures": step.row.failures + 1},
    )
