"""Who is to be told how runs ended is noted by the transaction that ends them: no end is lost or made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Left

from jobs_app.conf import get_settings
from jobs_app.lifecycle.deliveries import WEBHOOK, to_webhook
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.grouped import receivers
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.untold import Failed, note
from jobs_app.models import JobRun, State

if TYPE_CHECKING:
    from jobs_app.lifecycle.moves import Ended

MESSAGE_LENGTH = 1000  # of an error that waits to be told together with others


class _Run(NamedTuple):
    pk: UUID
    state: str
    job_type: str
    queue: str
    finished_at: datetime
    message: str


def is_awaited(ended: Iterable[Ended]) -> bool:
    """Might somebody have to be told of one of these? Who asks each time must pay nothing where there is nobody."""
    states = _states()
    return bool(states) and not states.isdisjoint(one.state for one in ended)


def announce(connection: BaseDatabaseWrapper, ended: Iterable[Ended], moved: set[UUID]) -> None:
    """Store a delivery for each webhook that wants to know of one of those that moved, and note the failures that are
    told together, in the transaction that is open.

    Who ends runs always has one open, but for those who asked first whether one is awaited."""
    states = _states()
    if not (states and moved):
        return
    if classes := {one.id: one.error_class for one in ended if one.state in states and one.id in moved}:
        runs = _stored(connection, classes)
        enqueue(list(_deliveries(runs)))
        note(connection, _failed(runs, classes))


def _states() -> set[str]:
    states = {state for webhook in get_settings().webhooks for state in webhook.states}
    return states | {State.FAILED.value} if receivers() else states


def _stored(connection: BaseDatabaseWrapper, ids: Iterable[UUID]) -> list[_Run]:
    """What was stored counts: an id that history knew before has the end that it had then."""
    runs = (
        JobRun.objects.using(connection.alias).filter(pk__in=list(ids)).annotate(message=Left("error", MESSAGE_LENGTH))
    )
    return sorted(_Run(*row) for row in runs.values_list(*_Run._fields))


def _deliveries(runs: Iterable[_Run]) -> Iterator[NewJob]:
    webhooks = [webhook for webhook in get_settings().webhooks if not webhook.grouped]
    for run in runs:
        for webhook in webhooks:
            if webhook.wants(state=run.state, job_type=run.job_type, queue=run.queue):
                yield to_webhook(WEBHOOK, webhook.name, {"run": str(run.pk), "job_type": run.job_type})


def _failed(runs: Iterable[_Run], classes: Mapping[UUID, str]) -> Iterator[Failed]:
    known = receivers()
    for run in runs:
        if run.state == State.FAILED and any(each.wants(run.job_type, run.queue) for each in known):
            yield Failed(run.job_type, run.queue, classes[run.pk], run.finished_at, run.pk, run.message)
