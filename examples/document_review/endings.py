"""How a review learns that its run is over.

The handler itself writes a success. A failure is told by a signal, at most once: a worker that is killed just then, or
an operator who ends a run, tells nobody. What was not told is found here by its age, and by its run. Runs that stand
still themselves are not looked at: the app's own `jobs.reconcile` moves them on.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from examples.document_review.models import Review, Status
from examples.pace import MINUTE, minutes
from jobs_app.models import LIVE, Run, State
from jobs_app.signals import job_finished

logger = logging.getLogger(__name__)

STALE_AFTER = {Status.RUNNING: minutes(30), Status.PENDING: minutes(10)}  # seconds
STATUS_AFTER: dict[str, Status] = {State.FAILED: Status.FAILED, State.CANCELLED: Status.CANCELLED}


def listen() -> None:
    job_finished.connect(_told, dispatch_uid="examples.document_review")


def _told(*, job: Any, ended: Any, **kwargs: Any) -> None:
    """An attempt that will be followed by another one leaves the review RUNNING."""
    if job.job_type == "document-evaluation" and ended.state in STATUS_AFTER:
        ending = {"status": STATUS_AFTER[ended.state], "error": ended.error, "updated_at": timezone.now()}
        Review.objects.filter(pk=job.id).update(**ending)


def reconcile() -> dict[str, int]:
    """End what is stale and has no live run. Age alone is no reason: a long backlog is healthy."""
    now = timezone.now()
    reviews = _stale(now)
    # After them: of a run that ended in between, the review is not any more what was read.
    runs = Run.objects.in_bulk([review.pk for review in reviews])
    left_behind = [review for review in reviews if review.pk not in runs or runs[review.pk].state not in LIVE]
    ended = [_end(review, runs.get(review.pk), now) for review in left_behind]
    return {"ended": sum(ended), "live": len(reviews) - len(left_behind)}


def _stale(now: datetime) -> list[Review]:
    found = Q()
    for status, seconds in STALE_AFTER.items():
        found |= Q(status=status, updated_at__lt=now - timedelta(seconds=seconds))
    return list(Review.objects.filter(found).only("status", "updated_at").order_by("updated_at"))


def _end(review: Review, run: Run | None, now: datetime) -> bool:
    """Unless somebody has changed it since it was read. One that cannot be ended costs the others nothing."""
    status = STATUS_AFTER.get(run.state, Status.FAILED) if run else Status.FAILED
    unchanged = Review.objects.filter(pk=review.pk, updated_at=review.updated_at)
    try:
        return bool(unchanged.update(status=status, error=_reason(review, run, now), updated_at=now))
    except DatabaseError:
        logger.exception("review %s could not be ended", review.pk)
        return False


def _reason(review: Review, run: Run | None, now: datetime) -> str:
    stuck_for = int((now - review.updated_at).total_seconds() / MINUTE)
    told = "not found" if run is None else f"{run.state}: {run.error}" if run.error else run.state
    return f"Job stuck in {review.status} for {stuck_for}min - run: {told}"
