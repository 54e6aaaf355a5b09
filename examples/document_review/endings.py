"""What the end of a run means for its review."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.utils import timezone

from examples.document_review.models import Review, Status
from jobs_app.signals import job_finished

EVALUATION = "document-evaluation"

# A success was written by the handler, and an attempt that will be tried again leaves the review RUNNING.
STATUS_AFTER = {"failed": Status.FAILED, "cancelled": Status.CANCELLED}


@receiver(job_finished)
def note_end(job: Any, ended: Any, **kwargs: Any) -> None:
    if job.job_type == EVALUATION and ended.state in STATUS_AFTER:
        ending = {"status": STATUS_AFTER[ended.state], "error": ended.error, "updated_at": timezone.now()}
        Review.objects.filter(pk=job.id).update(**ending)
