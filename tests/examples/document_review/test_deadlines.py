"""How long a review may take, and each call of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from examples.document_review.agents import Agent
from examples.document_review.jobs import evaluate_document
from examples.document_review.models import Review
from jobs_app.conf import get_settings
from jobs_app.registry import registry
from jobs_app.testing import run_jobs
from jobs_app.timeouts import timeout_for
from tests.examples.document_review.conftest import AtModel, Write

pytestmark = pytest.mark.django_db


@pytest.mark.spec("A3.3", "S3.10", "S3.R8")
def test_each_agent_has_its_time_and_a_listed_one_may_have_more_than_the_most() -> None:
    job_type = registry.get("document-evaluation")

    def timeout_of(agent: str) -> float | None:
        return timeout_for(job_type, lambda: {"document": 1, "agent": agent}, None, get_settings())

    assert {agent.value: timeout_of(agent) for agent in Agent} == {
        "spelling-grammar": 360,
        "simple-link-verifier": 480,
        "fallacy-check": 600,
        "multi-fallacy-eval": 900,
        "agentic": 7200,
        "readability": 240,
    }
    assert job_type.max_timeout == 1200


@pytest.mark.spec("A3.3", "S3.8")
def test_a_call_may_take_three_minutes_or_what_is_left(model: AtModel, write: Write) -> None:
    document = write("On oaks")
    evaluate_document.options(timeout=300).enqueue(document=document.pk, agent=Agent.READABILITY)
    evaluate_document.options(timeout=50).enqueue(document=document.pk, agent=Agent.READABILITY)

    run_jobs()

    long, short = [call["timeout"] for call in model.calls()]
    assert long == 180
    assert 0 < short <= 50


@pytest.mark.spec("A3.3", "S3.7", "S3.9")
def test_after_its_deadline_a_review_asks_nothing_more_and_is_not_tried_again(
    model: AtModel, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = write("On oaks", "First.", "Second.")
    evaluate_document.options(timeout=50).enqueue(document=document.pk, agent=Agent.READABILITY)
    monkeypatch.setattr(Review, "keep", _much_later(Review.keep))

    [run] = run_jobs(raise_errors=False)

    review = Review.objects.get()
    assert (run.label, run.attempts, len(model.calls())) == ("FAILED", 1, 1)
    assert (review.status, len(review.answers)) == ("FAILED", 1)
    assert "limit 50 s" in review.error


def _much_later(keep: Callable[..., None]) -> Callable[..., None]:
    """The answers are there only when the time is over."""
    from jobs_app import current_job

    def keep_later(review: Review, answers: list[dict[str, object]]) -> None:
        keep(review, answers)
        current_job().deadline -= 60

    return keep_later
