"""What passes by itself is tried again, and what cannot is not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from examples.document_review.agents import Agent
from examples.document_review.models import Document, Review
from examples.document_review.reviewing import request_review
from examples.pace import minutes
from jobs_app import get_run
from jobs_app.errors import LeaseLost
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.testing import freeze_clock, run_jobs
from tests.examples.document_review.conftest import AtModel, Write
from tests.examples.site import Site
from tests.waiting import until

pytestmark = pytest.mark.django_db

MINUTE = 1  # seconds
ONE_TRY = {  # moves: the error
    "401": "HTTPError",
    "403": "HTTPError",
    "404": "HTTPError",
    "grade 140": "ValidationError",
    "error processed 500 items": "ValueError",
}


def words_until_the_end(review: Review) -> list[tuple[str, str]]:
    """What its run and itself were called from the first attempt on, as somebody sees it who looks again and again."""
    seen: list[tuple[str, str]] = []

    def has_ended() -> bool:
        has_begun = JobAttempt.objects.filter(job_id=review.pk).exists()
        review.refresh_from_db()
        run = get_run(review.pk)
        if has_begun and not run.is_finished:
            seen.append((run.label, review.status))
        return run.is_finished

    until(has_ended, seconds=60)
    return seen


def attempts_of(review: Review) -> list[JobAttempt]:
    return list(JobAttempt.objects.filter(job_id=review.pk).order_by("number"))


def ended(document: Document) -> tuple[str, str, int]:
    """In the words of its review, and of its run."""
    review = until(lambda: document.reviews.exclude(status__in=["PENDING", "RUNNING"]).first())
    run = until(lambda: JobRun.objects.filter(pk=review.pk).first())
    return review.status, run.done_reason, run.attempts


@pytest.mark.spec("A3.1", "A3.2", "A3.3", "S3.2", "S3.9", "S3.11", "S3.12", "S3.13", "S3.14", "S3.15", "S3.16", "S3.21")
def test_reviews_end_as_their_errors_want_it(make_reviews: Callable[..., tuple[Site, AtModel]], write: Write) -> None:
    site, model = make_reviews(minute=MINUTE)
    recovers = write("three drops", moves="drop, drop, drop")
    gives_up = write("four drops", moves="drop, drop, drop, drop")
    busy = write("busy", moves="429, 503")
    hopeless = [write(line, moves=line) for line in ONE_TRY]
    for document in (recovers, gives_up, busy, *hopeless):
        request_review(document, Agent.FALLACY_CHECK, "ada")
    slow = write("slow", "1", "2", "3", "4", moves=", ".join([f"slow {1.5 * MINUTE}"] * 4))
    request_review(slow, Agent.READABILITY, "ada")
    assert set(Review.objects.values_list("status", flat=True)) == {"PENDING"}
    site.start_worker()

    review = recovers.reviews.get()
    assert set(words_until_the_end(review)) <= {("RUNNING", "RUNNING"), ("RUNNING", "COMPLETED")}
    assert get_run(review.pk).label == "COMPLETED"
    assert ended(recovers) == ("COMPLETED", "worker_done", 4)
    tried = attempts_of(review)
    assert [(one.number, one.outcome) for one in tried] == [(1, "error"), (2, "error"), (3, "error"), (4, "success")]
    assert {one.error_class.rpartition(".")[2] for one in tried[:3]} == {"RemoteDisconnected"}  # a ConnectionError
    waits = [(after.started_at - before.finished_at).total_seconds() / MINUTE for before, after in pairwise(tried)]
    assert [wait >= shortest for wait, shortest in zip(waits, (1, 2, 4), strict=True)] == [True] * 3

    assert ended(gives_up) == ("FAILED", "exhausted", 4)
    assert ended(busy) == ("COMPLETED", "worker_done", 3)
    assert [ended(document) for document in hopeless] == [("FAILED", "permanent", 1)] * len(hopeless)
    errors = [attempts_of(document.reviews.get())[0].error_class.rpartition(".")[2] for document in hopeless]
    assert errors == list(ONE_TRY.values())

    assert ended(slow) == ("FAILED", "timeout", 1)
    told = [call["timeout"] / MINUTE for call in model.calls() if call["title"] == "slow"]
    assert all(seconds <= 3 for seconds in told)
    assert told == sorted(told, reverse=True)


@pytest.mark.spec("A3.1", "S3.14", "S3.21", "S3.R1")
def test_the_waits_are_of_one_two_and_four_minutes_and_up_to_twice_that(model: AtModel, write: Write) -> None:
    review = request_review(write("On oaks", moves="drop, 429, 503"), Agent.FALLACY_CHECK, "ada")

    with freeze_clock() as clock:
        for attempt, shortest in enumerate((minutes(1), minutes(2), minutes(4)), start=1):
            [run] = run_jobs(raise_errors=False)
            wait = (Job.objects.get().run_at - clock.now).total_seconds()
            assert shortest <= wait < 2 * shortest
            review.refresh_from_db()
            assert (run.label, review.status, run.attempts) == ("RUNNING", "RUNNING", attempt)
            clock.move(2 * shortest)
        [run] = run_jobs()

    assert (run.label, run.attempts) == ("COMPLETED", 4)


@pytest.mark.spec("S3.1", "S3.2")
def test_a_review_and_its_run_have_one_id_and_the_run_tells_what_the_model_said_and_thought(
    model: AtModel, write: Write
) -> None:
    review = request_review(write("On oaks", "Oaks live long.", "They drop acorns."), Agent.SPELLING_GRAMMAR, "ada")

    [run] = run_jobs()

    review.refresh_from_db()
    stored = JobRun.objects.get(pk=review.pk)
    assert (review.status, run.result) == ("COMPLETED", {"grade": review.grade})
    assert stored.meta["usage"] == review.tokens > 0
    assert stored.meta["estimated_cost"] == f"{review.tokens * 0.000015:.6f}"
    assert stored.meta["thinking"][:2] == [
        "Let me look at the spelling of 3 words.",
        "Let me look at the grammar of 3 words.",
    ]
    assert (stored.progress_count, stored.target_count, stored.subject) == (2, 2, f"document {review.document_id}")
    assert sorted(attempts_of(review)[0].log_excerpt.split()[::2]) == ["grammar:", "grammar:", "spelling:", "spelling:"]


def test_an_attempt_goes_on_after_the_paragraphs_that_were_read_before(model: AtModel, write: Write) -> None:
    document = write("On oaks", "First.", "Second.", "Third.", moves="ok, ok, 503")
    request_review(document, Agent.READABILITY, "ada")

    run_jobs(raise_errors=False)
    run_jobs(at="2m")

    assert [call["text"].split()[-1] for call in model.calls()] == ["First.", "Second.", "Third.", "Third."]
    assert document.reviews.get().status == "COMPLETED"


def test_an_attempt_that_lost_its_review_to_a_later_one_changes_nothing(model: AtModel, write: Write) -> None:
    """As on a worker that was frozen until its lease was over."""
    request_review(write("On oaks", "Oaks live long."), Agent.READABILITY, "ada")
    frozen = Review.objects.get()
    frozen.begin(1)
    Review.objects.get().begin(2)

    late_answer = {"grade": 99, "text": "late", "tokens": 1}
    for late in (lambda: frozen.begin(1), lambda: frozen.keep([late_answer]), frozen.complete):
        with pytest.raises(LeaseLost, match="belongs to a later attempt"):
            late()
    assert Review.objects.values_list("attempt", "status", "answers").get() == (2, "RUNNING", [])


@pytest.mark.parametrize("status", ["FAILED", "CANCELLED"])
def test_a_review_that_was_ended_stays_so_whatever_its_attempt_still_says(write: Write, status: str) -> None:
    request_review(write("On oaks", "Oaks live long."), Agent.READABILITY, "ada")
    review = Review.objects.get()
    review.begin(1)
    Review.objects.update(status=status)

    with pytest.raises(LeaseLost, match="was ended"):
        review.keep([])
    assert Review.objects.get().status == status


@pytest.mark.spec("A3.2", "S3.12")
def test_a_document_without_a_word_is_not_sent_to_the_model(model: AtModel, write: Write) -> None:
    request_review(write("Nothing", " "), Agent.READABILITY, "ada")

    [run] = run_jobs(raise_errors=False)

    assert (run.label, run.attempts) == ("FAILED", 1)
    assert model.calls() == []
    assert "there is nothing to review" in run.error
    assert Review.objects.get().error == run.error


def test_a_run_that_an_operator_triggers_makes_its_review_itself(model: AtModel, write: Write) -> None:
    from examples.document_review.jobs import evaluate_document

    document = write("On oaks")
    run = evaluate_document.enqueue(document=document.pk, agent=Agent.READABILITY)

    run_jobs()

    review = Review.objects.get(pk=run.id)
    assert (review.document, review.agent, review.status) == (document, "readability", "COMPLETED")
