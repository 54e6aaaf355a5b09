"""What looks after reviews: every minute, every 30 seconds, and never twice at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError
from django.utils import timezone

from examples.document_review import endings
from examples.document_review.agents import Agent
from examples.document_review.models import Document, Review, Status
from examples.document_review.reviewing import request_review
from jobs_app import get_run, trigger
from jobs_app.lifecycle import control
from jobs_app.models import Job, Run
from jobs_app.testing import run_jobs
from tests.examples.document_review.conftest import AtModel, Write
from tests.examples.site import Site
from tests.waiting import until

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
COSTS, RECONCILIATION = "helicone-cost-update", "job-reconciliation"


def left(review: Review, status: str, minutes: float) -> Review:
    """As if that were the last that was heard of it."""
    Review.objects.filter(pk=review.pk).update(status=status, updated_at=timezone.now() - timedelta(minutes=minutes))
    return review


def orphan(document: Document, status: str, minutes: float) -> Review:
    return left(Review.objects.create(pk=uuid4(), document=document, agent=Agent.SIMPLE_LINK_VERIFIER), status, minutes)


def reconciled() -> dict[str, int]:
    trigger(RECONCILIATION)
    [run] = run_jobs(job_types=RECONCILIATION)
    return run.result


def told(review: Review) -> tuple[str, str]:
    review.refresh_from_db()
    return review.status, review.error


def slots(job_type: str) -> list[float]:
    """Seconds after noon."""
    runs = Run.objects.filter(job_type=job_type, slot_at__isnull=False).order_by("slot_at")
    return [(run.slot_at - NOON).total_seconds() for run in runs]


def until_ended(run_id: UUID) -> Any:
    return until(lambda: run if (run := get_run(run_id)).is_finished else None)


@pytest.mark.spec("A3.5", "S3.17", "S3.18", "S3.19", "S3.20", "S3.R4", "S3.R8")
def test_reconciliation_comes_every_minute_and_costs_every_30_seconds_one_at_a_time(
    make_reviews: Callable[..., tuple[Site, AtModel]], write: Write
) -> None:
    site, model = make_reviews()
    model_program = site.programs[-1]
    dropped = request_review(write("On elms"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    control.cancel([dropped.pk], "ada", "from the page of its run")
    review = request_review(write("On oaks"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    site.start_worker()
    until_ended(review.pk)

    site.manage("runscheduler", "--once", at=NOON)
    model_program.signal(signal.SIGSTOP)  # whoever asks the ledger waits for its answer
    site.manage("runscheduler", "--once", at=NOON + timedelta(seconds=30))
    running = until(lambda: Job.objects.filter(job_type=COSTS, state="running").first())
    again = [trigger(COSTS) for _ in range(3)]
    left(dropped, "PENDING", 11)
    lost = orphan(write("On yews"), "RUNNING", 35)  # as late as that: what is told of it are whole minutes
    site.manage("runscheduler", "--once", at=NOON + timedelta(seconds=60))

    assert [(run.id, run.created) for run in again] == [(running.pk, False)] * 3
    until(lambda: Run.objects.filter(job_type=RECONCILIATION, state="succeeded").exists())
    assert told(lost) == ("FAILED", "Job stuck in RUNNING for 35min - run: not found")
    assert told(dropped) == ("CANCELLED", "Job stuck in PENDING for 11min - run: cancelled: from the page of its run")

    model_program.signal(signal.SIGCONT)
    assert until_ended(running.pk).label == "COMPLETED"
    model.book()
    site.manage("runscheduler", "--once", at=NOON + timedelta(seconds=90))
    assert slots(COSTS) == [30, 90]  # none at 60, while one ran
    assert slots(RECONCILIATION) == [60]
    until(lambda: Review.objects.get(pk=review.pk).cost)


@pytest.mark.spec("A3.5", "S3.18")
def test_reconciliation_that_is_triggered_while_it_runs_adds_none_and_one_after_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = []

    def triggered_meanwhile() -> dict[str, int]:
        again.extend(trigger(RECONCILIATION) for _ in range(3))
        return {}

    monkeypatch.setattr(endings, "reconcile", triggered_meanwhile)
    first = trigger(RECONCILIATION)
    assert len(run_jobs()) == 1
    assert [(run.id, run.created) for run in again] == [(first.id, False)] * 3

    after = trigger(RECONCILIATION)
    assert after.created
    assert after.id != first.id


@pytest.mark.spec("S3.19")
def test_what_runs_for_less_than_30_minutes_or_waits_for_less_than_10_is_not_stale(write: Write) -> None:
    document = write("On oaks")
    fresh = [orphan(document, "RUNNING", 29), orphan(document, "PENDING", 9)]
    stale = [orphan(document, "RUNNING", 31), orphan(document, "PENDING", 11)]
    ended = orphan(document, "COMPLETED", 1000)

    assert reconciled() == {"ended": 2, "live": 0}

    assert [told(review) for review in fresh] == [("RUNNING", ""), ("PENDING", "")]
    assert [told(review)[0] for review in stale] == ["FAILED", "FAILED"]
    assert told(ended) == ("COMPLETED", "")


@pytest.mark.spec("S3.19", "S3.20")
def test_one_whose_run_waits_runs_or_waits_for_another_attempt_is_left_alone_however_old_it_is(
    model: AtModel, write: Write
) -> None:
    retrying = request_review(write("On elms", moves="503"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs(raise_errors=False)
    left(retrying, "RUNNING", 1000)
    waiting = left(request_review(write("On oaks"), Agent.SIMPLE_LINK_VERIFIER, "ada"), "PENDING", 1000)

    assert reconciled() == {"ended": 0, "live": 2}

    assert (told(retrying)[0], told(waiting)[0]) == ("RUNNING", "PENDING")


@pytest.mark.spec("S3.20", "S3.R4")
def test_one_whose_run_failed_while_nobody_was_told_says_why(model: AtModel, write: Write) -> None:
    review = request_review(write("On oaks", moves="503"), Agent.SIMPLE_LINK_VERIFIER, "ada")
    run_jobs(raise_errors=False)
    control.fail([review.pk], "ada", "no use")
    left(review, "RUNNING", 35)

    assert reconciled() == {"ended": 1, "live": 0}

    assert told(review) == ("FAILED", "Job stuck in RUNNING for 35min - run: failed: no use")


@pytest.mark.spec("S3.R4")
def test_one_that_cannot_be_ended_does_not_stop_the_sweep(
    write: Write, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    document = write("On oaks")
    reviews = [orphan(document, "RUNNING", minutes) for minutes in (50, 40, 35)]
    reason = endings._reason

    def refused(review: Review, *others: Any) -> str:
        if review.pk == reviews[1].pk:
            raise DatabaseError("not this one")
        return reason(review, *others)

    monkeypatch.setattr(endings, "_reason", refused)

    assert reconciled() == {"ended": 2, "live": 0}

    assert [told(review)[0] for review in reviews] == ["FAILED", "RUNNING", "FAILED"]
    assert f"review {reviews[1].pk} could not be ended" in caplog.text


def test_one_that_goes_on_meanwhile_is_not_ended(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    review = orphan(write("On oaks"), "RUNNING", 35)
    reason = endings._reason

    def completed_meanwhile(*given: Any) -> str:
        Review.objects.get(pk=review.pk).save()
        return reason(*given)

    monkeypatch.setattr(endings, "_reason", completed_meanwhile)

    assert reconciled() == {"ended": 0, "live": 0}
    assert told(review) == (Status.RUNNING, "")
