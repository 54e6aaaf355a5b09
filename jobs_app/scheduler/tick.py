"""Due schedules become jobs. No leader: each scheduler takes what no other has in hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import JobsError
from jobs_app.lifecycle.database import database_now, write_transaction
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.models import Job, JobRun, ScheduleState
from jobs_app.scheduler.advance import Step, advance, failure, plan
from jobs_app.scheduler.due import take_due, ticking_types

logger = logging.getLogger("jobs_app.scheduler")

ROWS_PER_TRANSACTION = 500


class Made(NamedTuple):
    """One job, made for one slot."""

    run_id: UUID
    schedule: str
    slot: datetime


@dataclass(kw_only=True)
class Ticked:
    at: datetime  # what was due at this moment had its turn
    rows: int = 0
    failed: int = 0
    made: list[Made] = field(default_factory=list)


def tick(
    connection: BaseDatabaseWrapper, *, limit: int = ROWS_PER_TRANSACTION, go_on: Callable[[], bool] = lambda: True
) -> Ticked:
    """Give each schedule that is due now one turn, a batch and a transaction at a time."""
    ticked = Ticked(at=database_now(connection))
    take = partial(take_due, connection, ticking_types(), now=ticked.at, limit=limit)
    last: ScheduleState | None = None
    while go_on():
        # Jobs and advance commit together, so that a crash leaves both or neither.
        with write_transaction(connection):
            steps = _give_turns(connection, take(after=last), ticked.at)
        _note(ticked, steps)
        if len(steps) < limit:
            break
        last = steps[-1].row
    return ticked


def _give_turns(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState], now: datetime) -> list[Step]:
    if not rows:
        return []
    try:
        with transaction.atomic(using=connection.alias):
            steps = [_plan(row, now) for row in rows]
            _enqueue(connection, steps)
    except DatabaseError:
        steps = [_alone(connection, row, now) for row in rows]
    advance(connection, steps, now)
    return steps


def _plan(row: ScheduleState, now: datetime) -> Step:
    try:
        return plan(row, now)
    except DatabaseError:
        raise  # the transaction is spoilt for all rows: each is tried alone
    except Exception as error:
        return failure(row, error)


def _alone(connection: BaseDatabaseWrapper, row: ScheduleState, now: datetime) -> Step:
    """One row of a batch that the database refused, behind a savepoint of its own."""
    try:
        with transaction.atomic(using=connection.alias):
            step = _plan(row, now)
            _enqueue(connection, [step])
            return step
    except DatabaseError as error:
        return failure(row, error)


def _enqueue(connection: BaseDatabaseWrapper, steps: Sequence[Step]) -> None:
    """Store the jobs, but for slots that have one: a schedule may have been deleted and made anew."""
    ids = [step.job.id for step in steps if step.job]
    known: set[UUID] = set()
    for model in (Job, JobRun):
        known.update(model.objects.using(connection.alias).filter(pk__in=ids).values_list("pk", flat=True))
    for step in steps:
        if step.job and step.job.id in known:
            step.job = None
    jobs = [step.job for step in steps if step.job]
    stored = enqueue(jobs)
    refused = {job.id for job, new in zip(jobs, stored, strict=True) if not new.created}
    for step in steps:
        if step.job and step.job.id in refused:
            step.job = None  # one with its key is queued or running; this slot adds none


def _note(ticked: Ticked, steps: Iterable[Step]) -> None:
    for step in steps:
        ticked.rows += 1
        if step.error:
            ticked.failed += 1
            _say_failed(step, step.error)
        elif step.job and step.slot:
            ticked.made.append(Made(step.job.id, str(step.row), step.slot))


def _say_failed(step: Step, error: Exception) -> None:
    if step.error_text == step.row.last_error:
        return  # said before; a row that fails at each tick must not fill a disk
    unexpected = error if not isinstance(error, JobsError) else None
    logger.error("schedule %s made no job and stays due: %s", step.row, step.error_text, exc_info=unexpected)
