"""Failed tries as payments, and the end of a subscription whose payment failed for good.

The attempts log is where a failed try is kept for certain: it is written with the end of the attempt, while all that
the handler itself wrote is rolled back. What is booked here is read from there: at once when a worker tells of it, and
again before each look for what is due. So a process that is killed in between, or an operator who marks a run as
failed, leaves nothing unbooked.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from examples.subscriptions.models import Payment, Subscription
from examples.subscriptions.paying import key_of
from jobs_app.models import JobAttempt, Run
from jobs_app.signals import job_finished

LOOK_BACK = timedelta(days=7)  # six tries by the crontab take two days; a scheduler may be away for the rest
NOT_TRIED = ("success", "interrupted", "deferred", "snoozed", "cancelled")


def listen() -> None:
    job_finished.connect(_told, dispatch_uid="examples.subscriptions")


def book(run_ids: Iterable[UUID] | None = None) -> None:
    """Book what failed, of these runs or of all the latest ones. Again and again, if you like."""
    runs = Run.objects.filter(job_type="charge")
    if run_ids is None:
        runs = runs.filter(queued_at__gte=timezone.now() - LOOK_BACK)
    else:
        runs = runs.filter(pk__in=list(run_ids))
    with transaction.atomic():
        _book_tries(runs)
        for run in runs.filter(state="failed"):
            _expire(run)


def _told(*, job: Any, ended: Any, **kwargs: Any) -> None:
    if job.job_type == "charge" and ended.outcome not in NOT_TRIED:
        book([job.id])


def _book_tries(runs: QuerySet[Run]) -> None:
    booked = Payment.objects.filter(run_id=OuterRef("job_id"), attempt=OuterRef("number"))
    tries = JobAttempt.objects.filter(~Exists(booked), job_id__in=runs.values("pk")).exclude(outcome__in=NOT_TRIED)
    tries = tries.order_by("job_id", "number")  # as every process does, so that none waits for another in turn
    about = dict(Run.objects.filter(pk__in={one.job_id for one in tries}).values_list("pk", "subject"))
    known = Subscription.objects.select_related("plan").in_bulk({int(subject) for subject in about.values()})
    Payment.objects.bulk_create(
        [_failed(known[int(about[one.job_id])], one) for one in tries if int(about[one.job_id]) in known],
        ignore_conflicts=True,  # another process may book the same
    )


def _failed(found: Subscription, one: JobAttempt) -> Payment:
    paid = found.payments.filter(run_id=one.job_id, status=Payment.Status.SUCCESS).first()
    return Payment(
        subscription=found,
        due_at=paid.due_at if paid else found.next_due_at,
        amount=found.plan.amount,
        currency=found.plan.currency,
        status=Payment.Status.FAILED,
        key=paid.key if paid else key_of(found),
        error=one.message,
        run_id=one.job_id,
        attempt=one.number,
        made_at=one.finished_at,
    )


def _expire(run: Run) -> None:
    """Once for each run: whoever is made active again by hand, or paid since, stays so."""
    unpaid = Q(last_paid_at__isnull=True) | Q(last_paid_at__lt=run.finished_at)
    unbooked = Q(expired_by__isnull=True) | ~Q(expired_by=run.pk)
    newer = Run.objects.filter(job_type="charge", subject=run.subject, queued_at__gt=run.queued_at)
    if not newer.exists():
        Subscription.objects.filter(unpaid, unbooked, pk=run.subject, status=Subscription.Status.ACTIVE).update(
            status=Subscription.Status.EXPIRED, expired_by=run.pk
        )
