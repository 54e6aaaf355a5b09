"""Whose line is whose, and what is never begun."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from socket import gethostname

import pytest

from examples.document_review.agents import Agent
from examples.document_review.models import Review
from examples.document_review.reviewing import cancel_reviews, request_review
from jobs_app.models import JobAttempt, JobRun
from tests.examples.document_review.conftest import AtModel, Write
from tests.examples.site import Site
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

LINE = re.compile(r"^\[\d{4}-\d\d-\d\d \S+\] \[Worker (\S{1,8})\] \[Job (\S+)\] INFO \[AI\] '(On \w+)'", re.MULTILINE)


@pytest.mark.spec("A3.6", "S3.1", "S3.3", "S3.4", "S3.5", "S3.15", "S3.R5")
def test_lines_of_two_documents_at_once_name_their_own_job_and_a_cancelled_one_is_never_begun(
    make_reviews: Callable[..., tuple[Site, AtModel]], write: Write
) -> None:
    site, model = make_reviews()
    unwanted = request_review(write("On nothing"), Agent.READABILITY, "ada")
    assert cancel_reviews([unwanted], "ada", "a mistake")
    reviews = {
        title: request_review(
            write(title, "First.", "Second.", moves="hold, hold, hold"), Agent.MULTI_FALLACY_EVAL, "ada"
        )
        for title in ("On oaks", "On elms")
    }
    worker = site.start_worker()

    until(lambda: len(model.calls()) == 6)  # three threads of each wait for their answer
    model.release()
    until(lambda: JobRun.objects.filter(state="succeeded", job_type="document-evaluation").count() == 2)

    lines = LINE.findall(worker.log())
    asked_and_answered = 2 * 3 * 2  # paragraphs, questions
    assert Counter((job, title) for _, job, title in lines) == {
        (str(review.pk), title): asked_and_answered for title, review in reviews.items()
    }
    assert {name for name, _, _ in lines} == {gethostname()[-4:] + str(worker.process.pid)[-4:]}
    for review in reviews.values():
        [attempt] = JobAttempt.objects.filter(job_id=review.pk)
        assert Counter(attempt.log_excerpt.split()[::2]) == {"fallacies:": 2, "evidence:": 2, "tone:": 2}
    assert {call["session"] for call in model.calls()} == {str(review.pk) for review in reviews.values()}

    run = JobRun.objects.get(pk=unwanted.pk)
    assert (run.state, run.attempts, run.error) == ("cancelled", 0, "a mistake")
    assert not JobAttempt.objects.filter(job_id=unwanted.pk).exists()
    review = Review.objects.get(pk=unwanted.pk)
    assert (review.status, review.error) == ("CANCELLED", "a mistake")
