"""running -> succeeded, failed, cancelled, or back to queued: what workers report, a batch in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError, DataError, IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import LeaseLost
from jobs_app.lifecycle.database import PIN_PLAN, is_postgres, write_transaction
from jobs_app.lifecycle.moves import Ended, remove, requeue
from jobs_app.lifecycle.relation import relation
from jobs_app.strict_json import dumps
from jobs_app.text import clean

# SQLSTATE classes that blame the data (bad value, constraint, too large) and not the server or the network.
DATA_AT_FAULT = ("22", "23", "54")


def finish(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> set[UUID]:
    """Store how attempts ended; the ids that were still ours. The others lost their lease: nothing changed for them.

    A batch that cannot be stored is halved until the row at fault is alone. That one is stored without what could not
    be, and with the reason instead: an outcome is always stored, and one bad row never costs the others.
    """
    try:
        return _store(connection, ended)
    except (DatabaseError, ValueError, TypeError, OverflowError) as error:
        if not is_data_at_fault(error):
            raise
        if len(ended) == 1:
            return _store(connection, [without_details(ended[0], error)])
    middle = len(ended) // 2
    return finish(connection, ended[:middle]) | finish(connection, ended[middle:])


def finish_within(connection: BaseDatabaseWrapper, ended: Ended) -> None:
    """The same inside the handler's own transaction, as its last statement: both commit, or neither."""
    if ended.id not in _store(connection, [ended]):
        raise LeaseLost(f"job {ended.id} is no longer ours; its transaction is rolled back")


def settled(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> set[UUID]:
    """Of reports whose commit was cut off, the ones that were stored: their attempt row carries our token."""
    rows, parameters = relation(connection, {"id": "uuid", "token": "uuid"}, [(one.id, one.token) for one in ended])
    sql = f"SELECT given.id FROM jobs_app_jobattempt AS tried JOIN ({rows}) AS given ON tried.job_id = given.id AND tried.token = given.token"
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return {row[0] if isinstance(row[0], UUID) else UUID(row[0]) for row in cursor.fetchall()}


def is_data_at_fault(error: BaseException) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    if state is not None:
        return state[:2] in DATA_AT_FAULT
    return isinstance(error, DataError | IntegrityError | ValueError | TypeError | OverflowError)


def without_details(ended: Ended, error: BaseException) -> Ended:
    first_line = str(error).partition("\n")[0]
    reason = clean(f"could not be stored: {type(error).__name__}: {first_line}")
    return replace(
        ended,
        result=None if ended.result is None else dumps({"not_stored": reason}, limit=10_000),
        error=reason if ended.error else "",
        traceback="",
        log=f"log, traceback and result {reason}",
    )


def _store(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> set[UUID]:
    waiting = [one for one in ended if one.state == "queued"]
    final = [one for one in ended if one.state != "queued"]
    with write_transaction(connection):
        if is_postgres(connection):
            with connection.cursor() as cursor:
                cursor.execute(PIN_PLAN)
        return remove(connection, final) | requeue(connection, waiting)
