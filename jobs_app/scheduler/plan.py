"""One schedule's turn, thought out before anything is written: the jobs of its slots, and where it then stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError

from jobs_app.catch_up import CatchUpRule, Turn, delays, turn
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.slots import SlotDrafts
from jobs_app.models import Overlap, ScheduleState, State
from jobs_app.text import clean

Random = Callable[[], float]  # from 0 up to 1
Live = Mapping[int, Collection[str]]  # schedule -> the states of its jobs that wait or run


@dataclass(kw_only=True)
class Step:
    """What becomes of one row."""

    row: ScheduleState
    next_run_at: datetime | None
    jobs: list[NewJob] = field(default_factory=list)  # oldest slot first
    last_slot: datetime | None = None
    skipped: int = 0
    skipped_from: datetime | None = None
    error: Exception | None = None

    @property
    def error_text(self) -> str:
        return clean(f"{type(self.error).__name__}: {self.error}") if self.error else ""

    def drop(self, ids: Collection[UUID]) -> None:
        """The slots of these jobs have had their turn and make none."""
        kept = [job for job in self.jobs if job.id not in ids]
        self.skipped += len(self.jobs) - len(kept)
        self.jobs = kept


class Planner(NamedTuple):
    """What the turns of one tick have in common."""

    now: datetime
    random: Random
    drafts: SlotDrafts

    def plan(self, row: ScheduleState, live: Live) -> Step:
        """Take the slots that the schedule's catch-up says. Never one that was taken before."""
        start = _untaken(row)
        if start is None or start > self.now:
            return Step(row=row, next_run_at=start, last_slot=row.last_slot)
        taken = turn(row.timetable, _rule(row), start=start, now=self.now)
        step = Step(
            row=row,
            next_run_at=taken.next_run_at,
            last_slot=taken.slots[-1] if taken.slots else row.last_slot,
            skipped=taken.skipped,
            skipped_from=taken.skipped_from,
        )
        self._draft(step, taken, most=_room(row, live.get(row.pk, ())))
        return step

    def _draft(self, step: Step, taken: Turn, *, most: int | None) -> None:
        """The first slot that fails ends the turn there: what follows it waits for it."""
        slots = taken.slots[:most]
        step.skipped += len(taken.slots) - len(slots)
        for slot, delay in zip(slots, delays(len(slots), step.row.spread_seconds), strict=True):
            try:
                step.jobs.append(self._job(step.row, slot, delay))
            except DatabaseError:
                raise  # the transaction is spoilt
            except Exception as error:
                stop_before(step, slot, error)
                return

    def _job(self, row: ScheduleState, slot: datetime, delay: float) -> NewJob:
        jitter = row.jitter_seconds * self.random() if row.jitter_seconds else 0.0
        return self.drafts.job(row, slot, delay + jitter)


def failure(row: ScheduleState, error: Exception) -> Step:
    """The row stays where it is: its slot is not lost, and is tried again."""
    return Step(row=row, next_run_at=row.next_run_at, last_slot=row.last_slot, error=error)


def stop_before(step: Step, slot: datetime, error: Exception) -> None:
    """Let the turn end before this slot, which could not be made."""
    step.error, step.next_run_at = error, slot
    step.jobs = [job for job in step.jobs if job.slot_at is not None and job.slot_at < slot]
    step.last_slot = step.jobs[-1].slot_at if step.jobs else step.row.last_slot


def _untaken(row: ScheduleState) -> datetime | None:
    """Where the row stands, but for slots that have had their turn: clocks go back, and people edit rows."""
    start = row.next_run_at
    if start is None or row.last_slot is None or start > row.last_slot:
        return start
    table = row.timetable
    return table.after(table.newest(start, row.last_slot))


def _rule(row: ScheduleState) -> CatchUpRule:
    """Where there is room for one job only, what was missed becomes one."""
    rule = row.catch_up_rule
    return replace(rule, policy="once") if row.overlap != Overlap.ALLOW and rule.policy == "all" else rule


def _room(row: ScheduleState, live: Collection[str]) -> int | None:
    """How many jobs the schedule may add to those that wait or run; None: any number."""
    if row.overlap == Overlap.ALLOW:
        return None
    if row.overlap == Overlap.SKIP:
        return 0 if live else 1
    return 0 if State.QUEUED in live else 1
