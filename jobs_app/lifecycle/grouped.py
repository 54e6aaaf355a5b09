"""Failures are told together: who wants to be told so, and the one message for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings as django_settings
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle import untold
from jobs_app.lifecycle.database import write_transaction
from jobs_app.lifecycle.deliveries import MAIL, WEBHOOK_OF_FAILURES, to_admins, to_webhook
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.turns import take_turn
from jobs_app.lifecycle.untold import MOST_KINDS, Kind
from jobs_app.models import State
from jobs_app.redaction import redact_text
from jobs_app.text import clean, one_line
from jobs_app.webhook_rules import Webhook

TURN = "tell failures"
MOST_GROUPS = 50  # that a message has; the others are counted
ERROR_LENGTH = 300

Wants = Callable[[str, str], bool]  # failures of a job type in a queue


class Receiver(NamedTuple):
    wants: Wants
    job: Callable[[dict[str, Any]], NewJob]  # that tells it, from the message


def receivers() -> list[Receiver]:
    """None of them, without a look at the database, where the settings name none."""
    settings = get_settings()
    found = [_of_webhook(webhook) for webhook in settings.webhooks if webhook.grouped]
    if settings.notify_admins and django_settings.ADMINS:
        # Not that a mail could not be sent: that mail could not be sent either.
        found.append(Receiver(lambda job_type, queue: job_type != MAIL, to_admins))
    return found


def tell(connection: BaseDatabaseWrapper) -> int:
    """Store a message for each receiver, if it is time for one; how many failures were taken for it.

    They are removed by the transaction that stores the messages. So each is told, and no process tells it again.
    """
    known = receivers()
    if not known:
        untold.forget(connection)  # of a time when somebody wanted to know
        return 0
    with write_transaction(connection):
        is_time = untold.is_any(connection) and take_turn(connection, TURN, seconds=get_settings().notify_every_seconds)
        kinds = untold.take(connection) if is_time else []
        enqueue(list(_messages(known, kinds)))
    return sum(kind.count for kind in kinds)


def _of_webhook(webhook: Webhook) -> Receiver:
    return Receiver(
        lambda job_type, queue: webhook.wants(state=State.FAILED.value, job_type=job_type, queue=queue),
        lambda told: to_webhook(WEBHOOK_OF_FAILURES, webhook.name, told),
    )


def _messages(known: Iterable[Receiver], kinds: Sequence[Kind]) -> Iterator[NewJob]:
    for receiver in known:
        if wanted := [kind for kind in kinds if receiver.wants(kind.job_type, kind.queue)]:
            yield receiver.job({"failures": _message(wanted, is_more=len(kinds) >= MOST_KINDS)})


def _message(kinds: Sequence[Kind], *, is_more: bool) -> dict[str, Any]:
    return {
        "count": sum(kind.count for kind in kinds),
        "is_more": is_more,
        "groups": [_group(kind) for kind in kinds[:MOST_GROUPS]],
        "other_groups": max(0, len(kinds) - MOST_GROUPS),
    }


def _group(kind: Kind) -> dict[str, Any]:
    """What a run said may hold anything, so what looks like a secret is taken out of it."""
    return {
        "job_type": kind.job_type,
        "queue": kind.queue,
        "error_class": one_line(kind.error_class),
        "count": kind.count,
        "first_at": _iso(kind.first_at),
        "last_at": _iso(kind.last_at),
        "run": str(kind.run_id),
        "error": clean(one_line(redact_text(kind.error)), ERROR_LENGTH),
    }


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
