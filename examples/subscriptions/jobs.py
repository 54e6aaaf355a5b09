"""What is due becomes one job each, and a job is one payment: charge, book, move the due date, all or nothing."""

from __future__ import annotations

from datetime import datetime

import environ
from django.db.models import QuerySet
from django.utils import timezone

from examples.pace import minutes
from examples.subscriptions import failures
from examples.subscriptions.models import Payment, Subscription
from examples.subscriptions.paying import charge_at_gateway, key_of
from jobs_app import Backoff, current_job, due, job

# For an answer of the gateway. Whoever else writes waits for it where SQLite is the database, 20 seconds at most.
CALL_MINUTES = 0.25
GATEWAY_RATE: str = environ.Env().str("GATEWAY_RATE", default="600/minute")  # all that it takes of one customer


@due("charge")
def due_subscriptions(now: datetime) -> QuerySet[Subscription]:
    """Whoever failed for good since the last look expires first, and is not due any more."""
    failures.book()
    return Subscription.objects.filter(status=Subscription.Status.ACTIVE, next_due_at__lte=now)


@job(
    queue="payments",
    preset="payments",
    subject="subscription",
    priority=10,  # before what else the same workers do
    backoff=Backoff(base=minutes(1), cap=None, jitter="none", exponent="retries"),  # 1, 2, 4, 8, 16 minutes
    rate=GATEWAY_RATE,
    timeout=minutes(2),
    atomic=True,
)
def charge(subscription: int) -> str:
    """Payment, next due date and the end of this job commit together. A crash after the charge leaves none of them, and
    the next try asks for the same charge by the same key."""
    locked = Subscription.objects.select_for_update(of=("self",))  # and not the plan, which others pay for too
    found = locked.select_related("plan").get(pk=subscription)
    if found.status == Subscription.Status.CANCELLED:
        return "cancelled meanwhile"
    if found.next_due_at > current_job().claimed.queued_at:  # whoever asked for it had looked before it was paid
        return f"not due before {found.next_due_at:%Y-%m-%d %H:%M:%S}"
    paid = found.payments.filter(due_at=found.next_due_at, status=Payment.Status.SUCCESS).first()
    if paid is not None:
        _move_on(found, paid.made_at)  # or it would be due for ever
        return f"paid before, {paid.reference}"
    reference = charge_at_gateway(found, seconds=current_job().remaining(limit=minutes(CALL_MINUTES)))
    _move_on(found, _book(found, reference))
    return reference


def _book(found: Subscription, reference: str) -> datetime:
    now, running = timezone.now(), current_job()
    Payment.objects.create(
        subscription=found,
        due_at=found.next_due_at,
        amount=found.plan.amount,
        currency=found.plan.currency,
        status=Payment.Status.SUCCESS,
        key=key_of(found),
        reference=reference,
        run_id=running.id,
        attempt=running.claimed.attempts,
        made_at=now,
    )
    return now


def _move_on(found: Subscription, paid_at: datetime) -> None:
    found.last_paid_at = paid_at
    found.next_due_at += found.plan.period  # from the old date: who pays late pays no less often
    found.status = Subscription.Status.ACTIVE  # an expired one that was run again by hand is back
    found.save(update_fields=["last_paid_at", "next_due_at", "status"])
