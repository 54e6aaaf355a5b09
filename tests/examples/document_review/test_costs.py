"""What reviews cost is asked for in batches, until the ledger has all of it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from examples.document_review.agents import Agent
from examples.document_review.models import Review
from examples.document_review.reviewing import request_review
from jobs_app import trigger
from jobs_app.testing import run_jobs
from tests.examples.document_review.conftest import AtModel, Write

pytestmark = pytest.mark.django_db


def asked() -> dict[str, int]:
    trigger("helicone-cost-update")
    [run] = run_jobs()
    return run.result


@pytest.mark.spec("S3.R8")
def test_costs_are_asked_for_ten_at_a_time_and_again_until_they_are_complete(model: AtModel, write: Write) -> None:
    document = write("On oaks")
    for _ in range(12):
        request_review(document, Agent.READABILITY, "ada")
    run_jobs()

    assert asked() == {"asked": 10, "known": 0}
    model.book()
    assert [asked() for _ in range(3)] == [
        {"asked": 10, "known": 10},  # the two that were not asked for yet are among them
        {"asked": 2, "known": 2},
        {"asked": 0, "known": 0},
    ]
    tokens = 20 + 2 * 3  # of three words
    assert set(Review.objects.values_list("cost", flat=True)) == {tokens * Decimal("0.000015")}


def test_a_review_that_failed_costs_what_it_used_and_one_under_way_is_not_asked_for(
    model: AtModel, write: Write
) -> None:
    failed = request_review(write("On elms", "One word.", "Another.", moves="ok, 404"), Agent.READABILITY, "ada")
    waits = request_review(write("On oaks", "One.", "Two.", moves="ok, 503"), Agent.READABILITY, "ada")
    run_jobs(raise_errors=False)
    model.book()

    assert asked() == {"asked": 1, "known": 1}

    failed.refresh_from_db()
    waits.refresh_from_db()
    assert (failed.status, failed.cost) == ("FAILED", failed.tokens * Decimal("0.000015"))
    assert (waits.status, waits.cost) == ("RUNNING", None)


def test_a_ledger_that_cannot_be_reached_is_asked_again_by_the_next_slot(
    model: AtModel, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_review(write("On oaks"), Agent.READABILITY, "ada")
    run_jobs()
    model.book()
    with monkeypatch.context() as patched:
        patched.setenv("MODEL_URL", "http://127.0.0.1:1/")
        trigger("helicone-cost-update")
        [run] = run_jobs(raise_errors=False)
        assert (run.label, run.attempts) == ("FAILED", 1)

    assert asked() == {"asked": 1, "known": 1}
