"""The work of a review: paragraph by paragraph, within the time that its run has left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.core.exceptions import ValidationError

from examples.document_review import model_client
from examples.document_review.agents import LISTED_PRICE, LONGEST_CALL, QUESTIONS
from examples.document_review.model_client import Question
from examples.document_review.models import Review
from jobs_app import current_job


def evaluate(review: Review) -> None:
    """Go on after the paragraphs that an attempt before this one got answers about."""
    job, paragraphs = current_job(), review.document.paragraphs
    review.begin(job.claimed.attempts)
    if not paragraphs:
        raise ValidationError("there is nothing to review")
    for number in range(len(review.answers), len(paragraphs)):
        job.raise_if_cancelled()
        job.check_timeout()
        review.keep(_answers_about(paragraphs[number], review))
        job.progress(number + 1, len(paragraphs), message=f"read paragraph {number + 1}")
        _tell(review)
    review.complete()


def _answers_about(paragraph: str, review: Review) -> list[dict[str, Any]]:
    """All questions of the agent at once. What the threads log and ask is the job's as well."""
    session, title = str(review.pk), review.document.title
    questions = [
        Question(session=session, title=title, about=about, text=paragraph) for about in QUESTIONS[review.agent]
    ]
    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(_ask, questions))


def _ask(question: Question) -> dict[str, Any]:
    job = current_job()
    answer = model_client.ask(question, job.remaining(limit=LONGEST_CALL))
    job.log(f"{question.about}: {answer['grade']}")
    return answer


def _tell(review: Review) -> None:
    """What operators see on the page of the run. Not "tokens": what is called so looks like a secret, and is hidden."""
    thoughts = [answer["thinking"] for answers in review.answers for answer in answers]
    cost = f"{review.tokens * LISTED_PRICE:.6f}"  # what is billed is known later: see `costs.py`
    current_job().save_meta(usage=review.tokens, estimated_cost=cost, thinking=thoughts)
