"""The work of a review: paragraph by paragraph, within the time that its run has left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError

from examples.document_review import model_client
from examples.document_review.agents import LONGEST_CALL, questions_of
from examples.document_review.model_client import Question
from examples.document_review.models import Document, Review
from jobs_app import current_job


def review_of_this_run(document: Document, agent: str) -> Review:
    """A run that an operator triggered or repeated has none yet."""
    review, _ = Review.objects.get_or_create(pk=current_job().id, defaults={"document": document, "agent": agent})
    return review


def evaluate(review: Review) -> None:
    """Go on after the paragraphs that an attempt before this one got answers about."""
    job = current_job()
    review.begin()
    paragraphs = review.document.paragraphs
    if not paragraphs:
        raise ValidationError("there is nothing to review")
    _tell(review)
    for number in range(len(review.answers), len(paragraphs)):
        job.raise_if_cancelled()
        job.check_timeout()
        review.keep(_answers_about(paragraphs[number], review))
        job.progress(number + 1, len(paragraphs), message=f"read paragraph {number + 1}")
        _tell(review)
    review.complete()


def _tell(review: Review) -> None:
    """What operators see on the page of the run."""
    thoughts = [answer["thinking"] for answers in review.answers for answer in answers]
    current_job().save_meta(session=str(review.pk), tokens=review.tokens, thinking=thoughts)


def _answers_about(paragraph: str, review: Review) -> list[dict[str, Any]]:
    """All questions of the agent at once. What threads of a job log and ask is the job's as well."""
    asked = Question(session=str(review.pk), agent=review.agent, about="", title=review.document.title, text=paragraph)
    questions = [replace(asked, about=about) for about in questions_of(review.agent)]
    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(_ask, questions))


def _ask(question: Question) -> dict[str, Any]:
    job = current_job()
    answer = model_client.ask(question, job.remaining(limit=LONGEST_CALL))
    job.log(f"{question.about}: {answer['grade']}")
    return answer
