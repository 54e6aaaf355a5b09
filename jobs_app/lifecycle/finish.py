"""running -> succeeded, failed, cancelled, or back to queued: what workers report, a batch in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError, IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import LeaseLost
from jobs_app.lifecycle.announce import is_awaited
from jobs_app.lifecycle.database import apart, is_data_at_fault, is_postgres, pin, pinned_transaction, read_uuid
from jobs_app.lifecycle.hand_over import Straight
from jobs_app.lifecycle.moves import Ended, remove, remove_all
from jobs_app.lifecycle.relation import relation
from jobs_app.lifecycle.requeue import requeue, while_places_are_taken
from jobs_app.models import ONE_QUEUED, Gate, JobRun
from jobs_app.strict_json import dumps
from jobs_app.text import clean

BYTES_PER_STATEMENT = 16 * 1024 * 1024  # of results; PostgreSQL and SQLite both end at a GB


def finish(connection: BaseDatabaseWrapper, ended: Sequence[Ended], straight: Straight | None = None) -> set[UUID]:
    """Store how attempts ended; the ids that were still ours. The others lost their lease: nothing changed for them.

    A batch that cannot be stored is halved until the row at fault is alone. That one is stored without what could not
    be, and with the reason instead: an outcome is always stored, and one bad row never costs the others.
    """
    if not ended:
        return set()
    if len(ended) > 1 and sum(len(one.result or "") for one in ended) > BYTES_PER_STATEMENT:
        return _finish_halves(connection, ended, straight)
    try:
        return _store_apart(connection, ended, straight)
    except (DatabaseError, ValueError, TypeError, OverflowError) as error:
        if not is_data_at_fault(error):
            raise
        if len(ended) == 1:
            return _finish_one(connection, ended[0], error, straight)
    return _finish_halves(connection, ended, straight)


def finish_within(connection: BaseDatabaseWrapper, ended: Ended) -> None:
    """The same inside the handler's own transaction, as its last statement: both commit, or neither."""
    if ended.id not in _store(connection, [ended]):
        raise LeaseLost(f"job {ended.id} is no longer ours; its transaction is rolled back")


def finish_last(connection: BaseDatabaseWrapper, ended: Ended) -> Ended:
    """The same where the job is locked, in a transaction of ours that ends right after: so its plan may stay pinned,
    and whoever began it begins it anew where a place in a queue is taken. How it ended: one that would wait may not."""
    if is_postgres(connection):
        with connection.wrap_database_errors:
            pin(connection.connection, is_ours=False)
    if ended.id not in (requeue if ended.state == "queued" else remove)(connection, [ended]):
        raise LeaseLost(f"job {ended.id} is no longer ours; nothing of its report is kept")
    if ended.state != "queued":
        return ended
    run = JobRun.objects.using(connection.alias).only("state", "done_reason").filter(pk=ended.id).first()
    return ended if run is None else replace(ended, state=run.state, done_reason=run.done_reason)


def settled(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> set[UUID]:
    """Of reports that were sent, the ones that are stored: their attempt row carries our token.

    And our outcome: recovery writes a row with our token too, of an attempt that was lost.
    """
    if not ended:
        return set()
    columns = {"id": "uuid", "token": "uuid", "outcome": "text"}
    rows, parameters = relation(connection, columns, [(one.id, one.token, one.outcome) for one in ended])
    sql = f"""SELECT given.id FROM jobs_app_jobattempt AS tried JOIN ({rows}) AS given
                  ON tried.job_id = given.id AND tried.token = given.token AND tried.outcome = given.outcome"""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return {read_uuid(row[0]) for row in cursor.fetchall()}


def _finish_one(
    connection: BaseDatabaseWrapper, ended: Ended, error: BaseException, straight: Straight | None
) -> set[UUID]:
    """The row at fault. One whose place in the queue was taken just now is not: it gives way when it comes again."""
    if ended.state == "queued" and ended.policy in ONE_QUEUED and isinstance(error, IntegrityError):
        return while_places_are_taken(lambda: _store_apart(connection, [ended], straight))
    return _store_apart(connection, [_without_details(ended, error)], straight)


def _without_details(ended: Ended, error: BaseException) -> Ended:
    first_line = str(error).partition("\n")[0]
    reason = clean(f"could not be stored: {type(error).__name__}: {first_line}")
    return replace(
        ended,
        result=None if ended.result is None else dumps({"not_stored": reason}, limit=10_000),
        error_class=clean(ended.error_class, 200),
        error=reason if ended.error else "",
        traceback="",
        log=f"log, traceback and result {reason}",
    )


def _finish_halves(connection: BaseDatabaseWrapper, ended: Sequence[Ended], straight: Straight | None) -> set[UUID]:
    middle = len(ended) // 2
    return finish(connection, ended[:middle], straight) | finish(connection, ended[middle:], straight)


def _store_apart(
    connection: BaseDatabaseWrapper, ended: Sequence[Ended], straight: Straight | None = None
) -> set[UUID]:
    """A host's transaction goes on after rows that are refused, and so do we, with what is left of them."""
    try:
        with apart(connection):
            return _store(connection, ended, unknown=True, straight=straight)
    except IntegrityError:  # history knows one: its report comes late, or its id was used before; or a key is not free
        with apart(connection):
            return _store(connection, ended, straight=straight and straight.for_nobody())


def _store(
    connection: BaseDatabaseWrapper,
    ended: Sequence[Ended],
    *,
    unknown: bool = False,
    straight: Straight | None = None,
) -> set[UUID]:
    reports = _one_each(ended)
    if _is_one_statement(connection, reports):
        moved = remove_all(connection, reports, unknown=unknown)
        return {one.id for one in reports} if moved else settled(connection, reports)
    waiting = [one for one in reports if one.state == "queued"]
    final = [one for one in reports if one.state != "queued"]
    with straight.if_stored() if straight else nullcontext(), pinned_transaction(connection):
        if waiting and len(reports) > 1:
            _lock_in_order(connection, reports)
        return remove(connection, final, unknown=unknown, straight=straight) | requeue(connection, waiting)


def _is_one_statement(connection: BaseDatabaseWrapper, reports: Sequence[Ended]) -> bool:
    """Nobody to wake or to tell, and nobody's transaction around it: then it needs a single round trip."""
    is_free = is_postgres(connection) and not connection.in_atomic_block and not is_awaited(reports)
    return is_free and all(one.state != "queued" and one.gate != Gate.KEY for one in reports)


def _one_each(ended: Sequence[Ended]) -> Sequence[Ended]:
    """A handler that ends just as its worker gives it up is reported twice: an end counts more than a wait."""
    if len({one.id.int for one in ended}) == len(ended):
        return ended
    chosen: dict[tuple[UUID, UUID | None], Ended] = {}
    for one in sorted(ended, key=lambda one: one.state == "queued"):
        chosen.setdefault((one.id, one.token), one)
    return list(chosen.values())


def _lock_in_order(connection: BaseDatabaseWrapper, ended: Iterable[Ended]) -> None:
    """Everything that locks several jobs locks them by id. A batch in two statements would not: a deadlock."""
    if is_postgres(connection):
        ids = sorted(one.id for one in ended)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_app_job WHERE id = ANY (%s) ORDER BY id FOR UPDATE", [ids])
