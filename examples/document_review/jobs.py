"""Reviews that take minutes, and two small jobs that look after them."""

from __future__ import annotations

from typing import Annotated, Any

from examples.document_review import agents, costs, endings, evaluation
from examples.document_review.agents import Agent
from examples.document_review.models import Document, Review, Status, subject_of
from examples.pace import minutes
from jobs_app import Backoff, current_job, job


@job(
    name="document-evaluation",
    queue="document-evaluation",
    preset="transient",
    # The preset's own, where a minute is one.
    backoff=Backoff(base=minutes(1), cap=None, jitter="spread", exponent="retries", max_exponent=16),
    subject=lambda payload: subject_of(payload["document"]),
    variant="agent",
    timeout=agents.USUAL_TIMEOUT,
    timeouts=agents.TIMEOUTS,
    max_timeout=agents.LONGEST_TIMEOUT,
)
def evaluate_document(document: Annotated[int, "The number of a document."], agent: Agent) -> dict[str, Any]:
    """Lets the model grade each paragraph of a document. What passes by itself is tried again, up to three times."""
    # A run that an operator triggered or repeated has no review yet.
    review, _ = Review.objects.get_or_create(
        pk=current_job().id, defaults={"document": Document.objects.get(pk=document), "agent": agent}
    )
    if review.status != Status.COMPLETED:  # as it is where a worker was killed between that and the run's own end
        evaluation.evaluate(review)
    return {"grade": review.grade}


@job(
    name="job-reconciliation",
    queue="job-reconciliation",
    preset="transient",
    policy="exclusive",
    max_attempts=1,  # the next slot is the retry
    cron="* * * * *",
    retention={"succeeded": "1d"},
)
def reconcile() -> dict[str, int]:
    """Ends the reviews that were left behind by a run which is over."""
    return endings.reconcile()


@job(
    name="helicone-cost-update",
    queue="helicone-cost-update",
    preset="transient",
    policy="exclusive",
    max_attempts=1,
    cron="*/30 * * * * *",
    retention={"succeeded": "1d"},
)
def update_costs() -> dict[str, int]:
    """Asks the model's ledger what ten reviews cost."""
    return costs.update_costs()
