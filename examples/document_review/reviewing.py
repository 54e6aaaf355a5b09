"""What the web application does: it asks for reviews, for their repetition and their end. Workers do the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from examples.document_review.models import Document, Review, Status
from jobs_app import trigger
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted


def request_review(document: Document, agent: str, actor: Any) -> Review:
    """Job and review are stored together, under one id, or neither is."""
    with transaction.atomic():
        run = trigger("document-evaluation", {"document": document.pk, "agent": agent}, actor=actor)
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


def cancel_reviews(reviews: Iterable[Review], actor: Any, reason: str = "") -> Acted:
    """One that waits is over at once. One that runs is asked to stop, and says so itself when it does."""
    with transaction.atomic():
        acted = control.cancel([review.pk for review in reviews], actor, reason)
        over = set(acted.moved) - set(acted.asked)
        ending = {"status": Status.CANCELLED, "error": reason, "updated_at": timezone.now()}
        Review.objects.filter(pk__in=over).update(**ending)
    return acted
