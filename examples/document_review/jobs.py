"""Reviews that take minutes, and two small jobs that look after them."""

from __future__ import annotations

from typing import Annotated, Any

from examples.document_review import agents, evaluation
from examples.document_review.costs import update_costs
from examples.document_review.models import Document, Status, subject_of
from examples.document_review.reconciling import reconcile_reviews
from examples.pace import minutes
from jobs_app import Backoff, job


def _subject(payload: dict[str, Any]) -> str:
    return subject_of(payload["document"])


@job(
    name="document-evaluation",
    queue="document-evaluation",
    preset="transient",
    # The preset's own, where a minute is one.
    backoff=Backoff(base=minutes(1), cap=None, jitter="spread", exponent="retries", max_exponent=16),
    subject=_subject,
    variant="agent",
    timeout=agents.USUAL_TIMEOUT,
    timeouts=agents.TIMEOUTS,
    max_timeout=agents.LONGEST_TIMEOUT,
)
def evaluate_document(
    document: Annotated[int, "The number of a document."],
    agent: Annotated[str, f"One of {', '.join(agents.NAMES)}; any other has a single question."],
) -> dict[str, Any]:
    """Lets the model grade each paragraph of a document. What passes by itself is tried again, up to three times."""
    review = evaluation.review_of_this_run(Document.objects.get(pk=document), agent)
    if review.status != Status.COMPLETED:  # as it is where a worker was killed between that and the run's own end
        evaluation.evaluate(review)
    return {"grade": review.grade, "tokens": review.tokens}


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
    return reconcile_reviews()


@job(
    name="helicone-cost-update",
    queue="helicone-cost-update",
    preset="transient",
    policy="exclusive",
    max_attempts=1,
    cron="*/30 * * * * *",
    retention={"succeeded": "1d"},
)
def update_review_costs() -> dict[str, int]:
    """Asks the model's ledger what ten reviews cost."""
    return update_costs()
