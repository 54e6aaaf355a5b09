"""What the web application does: it asks for reviews, and for their repetition. Workers do the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from examples.document_review.endings import EVALUATION
from examples.document_review.models import Document, Review
from jobs_app import trigger
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted


def request_review(document: Document, agent: str, actor: Any, reason: str = "") -> Review:
    """Job and review are stored together, under one id, or neither is."""
    with transaction.atomic():
        run = trigger(EVALUATION, {"document": document.pk, "agent": agent}, actor=actor, reason=reason)
        return Review.objects.create(pk=run.id, document=document, agent=agent)


def review_again(reviews: Iterable[Review], actor: Any, reason: str = "") -> Acted:
    """What has ended is repeated as a new run and a new review; the old ones stay as they are. One that waits for
    another attempt is due now."""
    known = {review.pk: review for review in reviews}
    with transaction.atomic():
        acted = control.retry(list(known), actor, reason)
        Review.objects.bulk_create(
            Review(pk=new, document_id=known[old].document_id, agent=known[old].agent)
            for old, new in acted.new_runs.items()
        )
    return acted


def newest_of_each_agent(document: Document) -> list[Review]:
    """Those that a review of the whole document repeats: not what was repeated already."""
    return list({review.agent: review for review in document.reviews.order_by("created_at", "pk")}.values())
