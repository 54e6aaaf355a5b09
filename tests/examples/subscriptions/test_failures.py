"""What failed is booked and ends a subscription, whoever is told of it and whoever is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from examples.subscriptions import failures
from examples.subscriptions.jobs import charge
from examples.subscriptions.models import Payment, Subscription
from jobs_app import trigger
from jobs_app.lifecycle import control
from jobs_app.models import Job, JobAttempt
from jobs_app.registry import registry
from jobs_app.signals import job_finished
from jobs_app.testing import freeze_clock, run_jobs
from tests.examples.subscriptions.conftest import AtGateway, Subscribe

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def untold() -> Any:
    """As if each process were killed before it could tell."""
    job_finished.disconnect(dispatch_uid="examples.subscriptions")
    yield
    failures.listen()


def tried_six_times(subscription: Subscription) -> Any:
    """Half an hour of tries that ends before now."""
    with freeze_clock(timezone.now() - timedelta(hours=1)) as clock:
        run = charge.enqueue(subscription=subscription.pk)
        for wait in (0, 1, 2, 4, 8, 16):
            clock.move(f"{wait}m")
            run_jobs(raise_errors=False)
        return run.refresh()


@pytest.mark.spec("S4.R4")
def test_a_failure_that_nobody_was_told_of_is_booked_before_the_next_look(
    gateway: AtGateway, subscribe: Subscribe, untold: None
) -> None:
    bob = subscribe("Broke Bob")
    assert tried_six_times(bob).status == "failed"
    assert not Payment.objects.exists()

    call_command("runscheduler", "--once")

    bob.refresh_from_db()
    assert bob.status == "EXPIRED"
    assert bob.payments.filter(status="FAILED").count() == 6
    assert not Job.objects.filter(job_type="charge").exists()


@pytest.mark.spec("S4.R4")
def test_booking_again_books_nothing_twice(gateway: AtGateway, subscribe: Subscribe) -> None:
    tried_six_times(subscribe("Broke Bob"))

    failures.book()
    failures.book()

    assert sorted(Payment.objects.values_list("attempt", flat=True)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.spec("S4.R4", "S4.21")
def test_a_run_that_an_operator_marks_failed_ends_the_subscription_too(
    gateway: AtGateway, subscribe: Subscribe
) -> None:
    bob = subscribe("Broke Bob")
    run = charge.enqueue(subscription=bob.pk)
    run_jobs(raise_errors=False)
    control.fail([run], actor="ada", reason="he left")

    failures.book()

    assert Subscription.objects.get().status == "EXPIRED"


@pytest.mark.spec("S4.R4", "S4.21")
def test_one_that_is_marked_failed_before_its_first_try_is_not_due_again(
    gateway: AtGateway, subscribe: Subscribe
) -> None:
    bob = subscribe("Broke Bob")
    control.fail([charge.enqueue(subscription=bob.pk)], actor="ada", reason="he left")

    call_command("runscheduler", "--once")

    assert Subscription.objects.get().status == "EXPIRED"
    assert not Job.objects.filter(job_type="charge").exists()


@pytest.mark.spec("S4.24", "A4.6")
def test_a_manual_retry_that_pays_brings_the_subscription_back_and_it_stays(
    gateway: AtGateway, subscribe: Subscribe
) -> None:
    bob = subscribe("Broke Bob")
    failed = tried_six_times(bob)
    gateway.behave("Broke Bob", decline=False)

    again = control.retry([failed], actor="ada", reason="a new card").new_runs[failed.id]
    [run] = run_jobs().succeeded
    failures.book()

    bob.refresh_from_db()
    assert run.id == again
    assert bob.status == "ACTIVE"
    assert JobAttempt.objects.filter(job_id=failed.id).count() == 6  # history is kept
    assert bob.payments.filter(status="SUCCESS").count() == 1


def test_one_that_is_made_active_by_hand_is_not_expired_again_by_the_same_failure(
    gateway: AtGateway, subscribe: Subscribe
) -> None:
    tried_six_times(subscribe("Broke Bob"))
    Subscription.objects.update(status="ACTIVE")

    failures.book()

    assert Subscription.objects.get().status == "ACTIVE"


@pytest.mark.spec("S4.23")
@pytest.mark.usefixtures("chores")
def test_administrators_are_told_of_what_failed_for_good(
    gateway: AtGateway, subscribe: Subscribe, mailoutbox: list[Any]
) -> None:
    with override_settings(ADMINS=[("Ada", "ada@example.com")]):
        tried_six_times(subscribe("Broke Bob"))
        trigger("jobs.notify")
        run_jobs()

    assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
    assert "charge" in mailoutbox[0].subject


@pytest.mark.spec("S4.24")
def test_charges_have_a_priority_and_a_rate() -> None:
    job_type = registry.get("charge")
    assert job_type.priority == 10
    assert job_type.limits.rate is not None
