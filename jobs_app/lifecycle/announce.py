"""Webhooks are told by jobs, and those are stored by the transaction that ends a run: no end is lost or made up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.ids import uuid7
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.limits import NO_RULES
from jobs_app.models import JobRun
from jobs_app.registry import gate_in
from jobs_app.webhook_rules import Webhook

if TYPE_CHECKING:
    from jobs_app.lifecycle.moves import Ended

WEBHOOK = "jobs.webhook"  # the job type
QUEUE = "webhooks"  # not that of the app's chores: a slow receiver must not keep them from their one slot
MAX_ATTEMPTS = 10


def is_awaited(ended: Iterable[Ended]) -> bool:
    """Might a webhook have to be told of one of these? Who asks each time must pay nothing where there are none."""
    webhooks = get_settings().webhooks
    return bool(webhooks) and not _states(webhooks).isdisjoint(one.state for one in ended)


def announce(connection: BaseDatabaseWrapper, ended: Iterable[Ended], moved: set[UUID]) -> None:
    """Store a delivery for each webhook that wants to know of one of those that moved, in the transaction that is open.

    Who ends runs always has one open, but for those who asked first whether one is awaited."""
    webhooks = get_settings().webhooks
    if not (webhooks and moved):
        return
    states = _states(webhooks)
    if ids := [one.id for one in ended if one.state in states and one.id in moved]:
        enqueue(list(_deliveries(connection, ids, webhooks)))


def _states(webhooks: Sequence[Webhook]) -> set[str]:
    return {state for webhook in webhooks for state in webhook.states}


def _deliveries(connection: BaseDatabaseWrapper, ids: list[UUID], webhooks: Sequence[Webhook]) -> Iterator[NewJob]:
    """What was stored counts: an id that history knew before has the end that it had then."""
    runs = JobRun.objects.using(connection.alias).filter(pk__in=ids).values_list("pk", "state", "job_type", "queue")
    for run_id, state, job_type, queue in sorted(runs):
        for webhook in webhooks:
            if webhook.wants(state=state, job_type=job_type, queue=queue):
                yield _delivery(webhook.name, run_id, job_type)


def _delivery(webhook: str, run_id: UUID, job_type: str) -> NewJob:
    """Never refused, whatever the policy of its queue is, and however small payloads have to be. Its key is its
    receiver's, so that a limit per key is one per receiver."""
    subject = f"webhook:{webhook}"
    return NewJob(
        id=uuid7(),
        job_type=WEBHOOK,
        queue=QUEUE,
        priority=0,
        max_attempts=MAX_ATTEMPTS,
        payload=json.dumps({"webhook": webhook, "run": str(run_id), "job_type": job_type}),
        subject=subject,
        key=subject,
        gate=gate_in(QUEUE, "standard", get_settings().queues.get(QUEUE, NO_RULES)),
    )
