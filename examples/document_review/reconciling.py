"""Reviews that say they wait or run while their run does not any more.

A run's end is told to its review by a signal, and a worker that is killed tells nobody. Runs that stand still
themselves are not looked at here: `jobs.reconcile` moves them on, and what it fails is found here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import DatabaseError
from django.utils import timezone

from examples.document_review.models import Review, Status
from examples.pace import MINUTE, minutes
from jobs_app.models import LIVE, Run, State, jobs_database

logger = logging.getLogger(__name__)

STALE_AFTER = {Status.RUNNING: minutes(30), Status.PENDING: minutes(10)}
AT_ONCE = 500


def reconcile_reviews() -> dict[str, int]:
    """End what is stale and has no live run. Age alone is no reason: a long backlog is healthy."""
    now = timezone.now()
    ended = live = 0
    for review, run in _stale(now):
        if run is not None and run.state in LIVE:
            live += 1
        else:
            ended += _end(review, run, now)
    return {"ended": ended, "live": live}


def _stale(now: datetime) -> Iterator[tuple[Review, Run | None]]:
    """Each with its run: read after it, so that a run which ended meanwhile has changed its review."""
    for status, seconds in STALE_AFTER.items():
        found = Review.objects.filter(status=status, updated_at__lt=now - timedelta(seconds=seconds))
        reviews = list(found.only("status", "updated_at").order_by("updated_at"))
        for first in range(0, len(reviews), AT_ONCE):
            some = reviews[first : first + AT_ONCE]
            runs = Run.objects.using(jobs_database()).in_bulk([review.pk for review in some])
            yield from ((review, runs.get(review.pk)) for review in some)


def _end(review: Review, run: Run | None, now: datetime) -> bool:
    """One that cannot be ended costs the others nothing."""
    is_cancelled = run is not None and run.state == State.CANCELLED
    try:
        return review.end(Status.CANCELLED if is_cancelled else Status.FAILED, _reason(review, run, now))
    except DatabaseError:
        logger.exception("review %s could not be ended", review.pk)
        return False


def _reason(review: Review, run: Run | None, now: datetime) -> str:
    stuck_for = int((now - review.updated_at).total_seconds() / MINUTE)
    told = "not found" if run is None else f"{run.state}: {run.error}" if run.error else run.state
    return f"Job stuck in {review.status} for {stuck_for}min - run: {told}"
