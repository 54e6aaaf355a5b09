"""What people do in the admin: ask for a review, repeat one or all of a document, cancel."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from examples.document_review import demo
from examples.document_review.agents import Agent
from examples.document_review.models import Review
from examples.document_review.reviewing import request_review
from jobs_app.models import ControlEvent, Job, JobRun
from jobs_app.testing import run_jobs
from tests.examples.document_review.conftest import AtModel, Write

pytestmark = [pytest.mark.django_db, pytest.mark.urls("jobsite.urls")]

REVIEWS = "admin:document_review_review_changelist"
DOCUMENTS = "admin:document_review_document_changelist"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def act(client: Client, page: str, action: str, *chosen: Any) -> str:
    """What the page says afterwards."""
    given = {"action": action, "_selected_action": [one.pk for one in chosen]}
    return client.post(reverse(page), given, follow=True).text


@pytest.mark.spec("S3.R8")
def test_a_review_is_run_again_as_a_new_one_and_the_old_one_stays(
    model: AtModel, write: Write, operator: Client
) -> None:
    review = request_review(write("On oaks", moves="404"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs(raise_errors=False)

    assert "Reviews on their way: 1." in act(operator, REVIEWS, "repeat", review)

    new = Review.objects.exclude(pk=review.pk).get()
    assert Job.objects.get().parent == review.pk
    assert (new.pk, new.agent, new.document, new.status) == (
        Job.objects.get().pk,
        "simple-link-verifier",
        review.document,
        "PENDING",
    )
    run_jobs(raise_errors=False)
    assert Review.objects.get(pk=review.pk).status == "FAILED"
    assert JobRun.objects.get(pk=new.pk).actor == "ada"


@pytest.mark.spec("S3.R8")
def test_all_reviews_of_a_document_are_run_again_the_newest_of_each_agent(
    model: AtModel, write: Write, operator: Client
) -> None:
    document, other = write("On oaks"), write("On elms")
    for agent in (Agent.SIMPLE_LINK_VERIFIER, Agent.SIMPLE_LINK_VERIFIER, Agent.SPELLING_GRAMMAR):
        request_review(document, agent, "ada")
    request_review(other, Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs()

    assert "Reviews on their way: 2." in act(operator, DOCUMENTS, "repeat", document)

    again = Review.objects.filter(status="PENDING")
    assert {(review.document, review.agent) for review in again} == {
        (document, "simple-link-verifier"),
        (document, "spelling-grammar"),
    }
    assert len(run_jobs().succeeded) == 2
    assert ControlEvent.objects.get(action="retry").reason == "all reviews of the document"


def test_one_that_waits_for_another_attempt_is_due_now_and_stays_the_same_review(
    model: AtModel, write: Write, operator: Client
) -> None:
    review = request_review(write("On oaks", moves="503"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs(raise_errors=False)

    assert "Reviews on their way: 1." in act(operator, REVIEWS, "repeat", review)

    run_jobs()
    assert Review.objects.get().status == "COMPLETED"


@pytest.mark.spec("S3.15", "S3.R5")
def test_one_that_waits_is_cancelled_and_one_that_has_ended_says_so(
    model: AtModel, write: Write, operator: Client
) -> None:
    ended = request_review(write("On elms"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs()
    waiting = request_review(write("On oaks"), Agent.SIMPLE_LINK_VERIFIER, "ada")

    page = act(operator, REVIEWS, "cancel", ended, waiting)

    assert "Reviews cancelled, or asked to stop: 1." in page
    assert f"Run {ended.pk} has already succeeded" in page
    assert not run_jobs()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.error) == ("CANCELLED", "cancelled by ada")


@pytest.mark.spec("S3.2")
def test_somebody_asks_for_a_review_and_reads_what_came_of_it(model: AtModel, write: Write, operator: Client) -> None:
    document = write("On oaks")
    asked = {"document": document.pk, "agent": "readability"}

    operator.post(reverse("admin:document_review_review_add"), asked)

    review = Review.objects.get()
    assert Job.objects.get().pk == review.pk
    run_jobs()
    assert "On oaks" in operator.get(reverse(REVIEWS), {"document__id__exact": document.pk}).text
    page = operator.get(reverse("admin:document_review_review_change", args=[review.pk])).text
    assert "readability: 3 words read." in page
    assert reverse("admin:jobs_app_run_detail", args=[review.pk]) in page
    assert (
        reverse("admin:jobs_app_subject_detail", args=[f"document {document.pk}"])
        in operator.get(reverse(DOCUMENTS)).text
    )


def test_who_may_only_look_repeats_and_cancels_nothing(model: AtModel, write: Write, client: Client) -> None:
    review = request_review(write("On oaks"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    viewer = User.objects.create_user("joan", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename__in=["view_review", "view_document", "add_review"]))
    client.force_login(viewer)

    act(client, REVIEWS, "cancel", review)
    act(client, REVIEWS, "repeat", review)

    assert Review.objects.get().status == "PENDING"
    assert Job.objects.count() == 1
    assert client.get(reverse("admin:document_review_review_add")).status_code == 403


def test_the_demo_asks_again_only_for_what_has_ended() -> None:
    demo.fill()
    demo.fill()
    assert Review.objects.count() == len(demo.WANTED)
