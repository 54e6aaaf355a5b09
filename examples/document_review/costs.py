"""What reviews cost: the model's ledger knows, some time after the calls."""

from __future__ import annotations

from django.db.models import F
from django.utils import timezone

from examples.document_review import model_client
from examples.document_review.agents import LONGEST_CALL
from examples.document_review.models import ENDED, Review
from jobs_app import current_job

BATCH = 10


def update_costs() -> dict[str, int]:
    """Ask for the ones that were not asked for yet, then for those not asked for longest: what was not booked
    completely."""
    unknown = Review.objects.filter(cost=None, status__in=ENDED)
    reviews = list(unknown.order_by(F("cost_asked_at").asc(nulls_first=True), "pk")[:BATCH])
    if not reviews:
        return {"asked": 0, "known": 0}
    sessions = [str(review.pk) for review in reviews]
    known = model_client.costs_of(sessions, current_job().remaining(limit=LONGEST_CALL))
    for review in reviews:
        review.cost, review.cost_asked_at = known.get(str(review.pk)), timezone.now()
    Review.objects.bulk_update(reviews, ["cost", "cost_asked_at"])
    return {"asked": len(reviews), "known": len(known)}
