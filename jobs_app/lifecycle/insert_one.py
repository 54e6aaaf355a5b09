"""The enqueue of one job on PostgreSQL: one call of a procedure, which the server plans once per connection.

The procedures are in migration 0007, and why they are procedures in docs/decisions/006-an-enqueue-is-a-procedure.md.
"""

from __future__ import annotations

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle import wakeup
from jobs_app.lifecycle.cursors import fetch_again
from jobs_app.lifecycle.database import frozen_moment, while_busy
from jobs_app.lifecycle.new_job import NewJob

FIELDS = len(NewJob._fields) - 1  # the last one, `follows`, says something of several that are stored together
USUAL = tuple(NewJob._field_defaults.values())
REQUIRED = len(NewJob._fields) - len(USUAL)  # these come first, in a job as in the parameters of both procedures
ADDED = 2  # the wake-up and the moment


def _call(procedure: str, parameters: int) -> str:
    return f"CALL {procedure}({', '.join(['%s'] * parameters)})"


PLAIN = _call("jobs_app_enqueue", REQUIRED + ADDED)
FULL = _call("jobs_app_enqueue_full", FIELDS + ADDED)


def insert_one(connection: BaseDatabaseWrapper, job: NewJob) -> datetime | None:
    """Store the job and give the moment; None where its key lets no second job in."""
    sql, values = (PLAIN, job[:REQUIRED]) if job[REQUIRED:] == USUAL else (FULL, job[:FIELDS])
    parameters = (*values, wakeup.call_for(job), frozen_moment())
    moment: datetime | None = while_busy(connection, lambda: fetch_again(connection, sql, parameters))[0]
    return moment
