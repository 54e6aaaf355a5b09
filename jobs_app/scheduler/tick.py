"""Due schedules become jobs. No leader: each scheduler takes what no other has in hand."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import random as uniform
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db import DatabaseError, InterfaceError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import JobsError
from jobs_app.lifecycle.database import apart, database_now, is_data_at_fault, pinned_transaction
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.slots import SlotDrafts, enqueue_slots
from jobs_app.logs import event
from jobs_app.models import Overlap, ScheduleState
from jobs_app.scheduler.advance import advance, is_given_up, set_aside
from jobs_app.scheduler.due import Due, due_ids, live_states, take_due, ticking_types
from jobs_app.scheduler.plan import Live, Planner, Random, Step, failure, stop_before
from jobs_app.scheduler.records import record

logger = logging.getLogger("jobs_app.scheduler")

ROWS_PER_TRANSACTION = 500


class Made(NamedTuple):
    """One job, made for one slot."""

    run_id: UUID
    job_type: str
    schedule: str
    slot: datetime
    at: datetime  # by the tick of this moment


Note: TypeAlias = Callable[[Sequence[Made]], None]


@dataclass(kw_only=True)
class Ticked:
    at: datetime  # what was due at this moment had its turn
    rows: int = 0
    failed: Counter[str] = field(default_factory=Counter)  # schedules, by job type
    skipped: Counter[str] = field(default_factory=Counter)  # slots that got no job, by job type
    made: list[Made] = field(default_factory=list)


class Tick:
    """One tick: each schedule that is due now has one turn, a batch and a transaction at a time."""

    def __init__(self, connection: BaseDatabaseWrapper, due: Due, random: Random) -> None:
        self._connection = connection
        self._due = due
        self._planner = Planner(due.now, random, SlotDrafts())
        self._last: ScheduleState | None = None

    def batch(self, limit: int) -> list[Step]:
        try:
            steps = self._together(self._due, limit)
        except Exception as error:
            if not _is_row_at_fault(error):
                raise
            steps = self._one_by_one(limit)
        self._due = replace(self._due, is_later=True)
        return steps

    def _together(self, due: Due, limit: int) -> list[Step]:
        """Jobs and advance commit together, so that a crash leaves both or neither.

        Pinned: where most of a table is due, the planner would read and sort all of it for each batch.
        """
        with apart(self._connection), pinned_transaction(self._connection):
            rows = take_due(self._connection, due, after=self._last, limit=limit)
            if not rows:
                return []
            steps = self._turns(rows)
            advance(self._connection, steps, due.now)
            record(self._connection, steps, due.now)
        self._last = rows[-1]
        return steps

    def _one_by_one(self, limit: int) -> list[Step]:
        """The same where one of them can be neither read nor written: each has a transaction of its own."""
        steps = []
        for row_id in due_ids(self._connection, self._due, after=self._last, limit=limit):
            try:
                steps += self._together(replace(self._due, only=row_id), 1)
            except Exception as error:
                if not _is_row_at_fault(error):
                    raise
                steps.append(self._set_aside(row_id, error))
        return steps

    def _set_aside(self, row_id: int, error: Exception) -> Step:
        with apart(self._connection), pinned_transaction(self._connection):
            step = set_aside(self._connection, row_id, error, self._due.now)
            record(self._connection, [step], self._due.now)
        return step

    def _turns(self, rows: Sequence[ScheduleState]) -> list[Step]:
        picky = [row.pk for row in rows if row.overlap != Overlap.ALLOW]
        live = live_states(self._connection, picky)
        try:
            with transaction.atomic(using=self._connection.alias):
                steps = [self._plan(row, live) for row in rows]
                _store(self._connection, steps)
                return steps
        except Exception:
            return [self._alone(row, live) for row in rows]

    def _plan(self, row: ScheduleState, live: Live) -> Step:
        try:
            return self._planner.plan(row, live)
        except DatabaseError:
            raise  # the transaction is spoilt for all rows: each is tried alone
        except Exception as error:
            return failure(row, error)

    def _alone(self, row: ScheduleState, live: Live) -> Step:
        """One row of a batch that could not be stored, slot by slot, each behind a savepoint of its own."""
        try:
            with transaction.atomic(using=self._connection.alias):
                step = self._plan(row, live)
        except DatabaseError as error:
            return failure(row, error)
        for job in list(step.jobs):
            try:
                with transaction.atomic(using=self._connection.alias):
                    _store_slots(self._connection, [step], [job])
            except Exception as error:
                assert job.slot_at is not None
                stop_before(step, job.slot_at, error)
                break
        return step


def tick(
    connection: BaseDatabaseWrapper,
    *,
    job_types: Sequence[str] | None = None,
    rest: float = 0,
    limit: int = ROWS_PER_TRANSACTION,
    go_on: Callable[[], bool] = lambda: True,
    random: Random = uniform,
    note: Note | None = None,
) -> Ticked:
    """Give each schedule that is due now one turn.

    `note` gets the jobs of each batch, which are then not kept: after an outage there may be millions.
    """
    now = database_now(connection)
    types = ticking_types(connection, now) if job_types is None else job_types
    ticked, turns = Ticked(at=now), Tick(connection, Due(job_types=types, now=now, rest=rest), random)
    while go_on():
        steps = turns.batch(limit)
        (note or ticked.made.extend)(_note(ticked, steps))
        if len(steps) < limit:
            break
    return ticked


def _is_row_at_fault(error: Exception) -> bool:
    """And not the moment, or the way to the database."""
    return is_data_at_fault(error) or not isinstance(error, DatabaseError | InterfaceError)


def _store(connection: BaseDatabaseWrapper, steps: Sequence[Step]) -> None:
    _store_slots(connection, steps, [job for step in steps for job in step.jobs])


def _store_slots(connection: BaseDatabaseWrapper, steps: Sequence[Step], jobs: Sequence[NewJob]) -> None:
    made = enqueue_slots(connection, jobs)
    left_out = {job.id for job in jobs if job.id not in made}
    if left_out:
        for step in steps:
            step.drop(left_out)


def _note(ticked: Ticked, steps: Iterable[Step]) -> list[Made]:
    made: list[Made] = []
    for step in steps:
        ticked.rows += 1
        job_type, name = step.row.job_type, str(step.row)
        if step.skipped:
            ticked.skipped[job_type] += step.skipped
        if step.error:
            ticked.failed[job_type] += 1
            _say_failed(step, step.error, ticked.at)
        made += [Made(job.id, job_type, name, job.slot_at, ticked.at) for job in step.jobs if job.slot_at]
    return made


def _say_failed(step: Step, error: Exception, now: datetime) -> None:
    unexpected = error if not isinstance(error, JobsError) else None
    if is_given_up(step, now):
        text = "schedule %s failed for too long and is switched off: %s"
        logger.error(text, step.row, step.error_text, extra=event("schedule_switched_off", **_facts(step)))
    elif step.error_text != step.row.last_error:  # said once; a row that fails at each tick must not fill a disk
        facts = event("job_enqueue_failed", **_facts(step))
        text = "schedule %s made no job and stays due: %s"
        logger.error(text, step.row, step.error_text, exc_info=unexpected, extra=facts)


def _facts(step: Step) -> dict[str, Any]:
    row = step.row
    return {"schedule": str(row), "job_type": row.job_type, "subject": row.subject, "error": step.error_text}
