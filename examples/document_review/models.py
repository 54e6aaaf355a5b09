"""What is reviewed, and what came of it."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from django.db import models
from django.utils import timezone

from examples.document_review.agents import Agent
from jobs_app.errors import LeaseLost


class Document(models.Model):
    title = models.CharField(max_length=200, unique=True)
    text = models.TextField(help_text="Paragraphs have an empty line between them. Each is asked about on its own.")

    def __str__(self) -> str:
        return self.title

    @property
    def paragraphs(self) -> list[str]:
        return [part.strip() for part in self.text.split("\n\n") if part.strip()]


def subject_of(document_id: int) -> str:
    """The name under which operators see a document's jobs."""
    return f"document {document_id}"


class Status(models.TextChoices):
    """The words of the preset `transient`. While a run waits for another attempt, its review is RUNNING."""

    PENDING = "PENDING", "PENDING"
    RUNNING = "RUNNING", "RUNNING"
    COMPLETED = "COMPLETED", "COMPLETED"
    FAILED = "FAILED", "FAILED"
    CANCELLED = "CANCELLED", "CANCELLED"


OPEN = (Status.PENDING, Status.RUNNING)
ENDED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Review(models.Model):
    """What one run of `document-evaluation` found. Its id is the run's, so either leads to the other."""

    id = models.UUIDField(primary_key=True, editable=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="reviews")
    agent = models.CharField(max_length=40, choices=Agent.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    attempt = models.PositiveIntegerField(default=0)  # the last one of its run that began
    answers = models.JSONField(default=list)  # a list for each paragraph, as they come in
    grade = models.PositiveSmallIntegerField(null=True)
    summary = models.TextField(blank=True)
    error = models.TextField(blank=True)
    tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField("cost in USD", max_digits=12, decimal_places=6, null=True)
    cost_asked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-created_at",)
        indexes = (models.Index("status", "updated_at", name="review_by_status"),)

    def __str__(self) -> str:
        return f"{self.agent} on {self.document}"

    def begin(self, attempt: int) -> None:
        """From now on only this attempt writes: what one before it still says, on a worker that lost it, is refused."""
        self.attempt, self.status, self.error = attempt, Status.RUNNING, ""
        self._write(Review.objects.filter(attempt__lt=attempt), "attempt", "status", "error")

    def keep(self, answers: list[dict[str, Any]]) -> None:
        """What was said about the next paragraph. An attempt after this one need not pay for it again."""
        self.answers = [*self.answers, answers]
        self.tokens += sum(answer["tokens"] for answer in answers)
        self._write(self._of_this_attempt(), "answers", "tokens")

    def complete(self) -> None:
        said = [answer for answers in self.answers for answer in answers]
        self.grade = round(fmean(answer["grade"] for answer in said))
        self.summary = "\n".join(answer["text"] for answer in said)
        self.status = Status.COMPLETED
        self._write(self._of_this_attempt(), "grade", "summary", "status")

    def _of_this_attempt(self) -> models.QuerySet[Review]:
        return Review.objects.filter(attempt=self.attempt, status=Status.RUNNING)

    def _write(self, mine: models.QuerySet[Review], *names: str) -> None:
        facts = {name: getattr(self, name) for name in names}
        if not mine.filter(pk=self.pk).update(**facts, updated_at=timezone.now()):
            raise LeaseLost(f"review {self.pk} was ended, or belongs to a later attempt")
