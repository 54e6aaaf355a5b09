"""What an operator sees and does in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from examples.subscriptions.jobs import charge
from jobs_app.models import ControlEvent, Job, JobRun
from jobs_app.testing import run_jobs
from tests.examples.subscriptions.conftest import AtGateway, Subscribe

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def page(name: str, *arguments: Any) -> str:
    return reverse(f"admin:jobs_app_{name}", args=arguments)


def charged(subscribe: Subscribe, *payers: str) -> None:
    for payer in payers:
        charge.enqueue(subscription=subscribe(payer).pk)
    run_jobs(raise_errors=False)


@pytest.mark.spec("A4.6", "S4.19", "S4.21", "S4.24", "S4.26")
def test_a_payment_that_waits_is_made_due_now_marked_failed_and_run_again(
    subscribe: Subscribe, gateway: AtGateway, operator: Client
) -> None:
    charged(subscribe, "Broke Bob")
    waiting = Job.objects.get(job_type="charge")
    Job.objects.update(run_at=timezone.now() + timedelta(minutes=10))
    listed = operator.get(page("run_changelist"), {"job_type": "charge", "state": "retrying"}).text
    assert str(waiting.pk)[:8] in listed
    assert "the card of Broke Bob was declined" in operator.get(page("run_detail", waiting.pk)).text

    operator.post(page("run_retry", waiting.pk), {"reason": "he called"})
    assert len(run_jobs(raise_errors=False).retrying) == 1

    operator.post(page("run_fail", waiting.pk), {"reason": "no use"})
    failed = JobRun.objects.get(pk=waiting.pk)
    assert (failed.state, failed.finished_at is not None) == ("failed", True)

    gateway.behave("Broke Bob", decline=False)
    operator.post(page("run_again", failed.pk), {"reason": "a new card"})
    assert [run.status for run in run_jobs()] == ["succeeded"]
    assert JobRun.objects.get(parent=failed.pk).state == "succeeded"
    assert JobRun.objects.get(pk=failed.pk).attempts == 2
    told = ControlEvent.objects.filter(actor="ada").order_by("id")
    assert list(told.values_list("action", "reason")) == [
        ("retry", "he called"),
        ("fail", "no use"),
        ("retry", "a new card"),
    ]


@pytest.mark.spec("A4.6", "S4.19", "S4.25")
def test_of_five_payments_four_are_80_percent(subscribe: Subscribe, gateway: AtGateway, operator: Client) -> None:
    charged(subscribe, "Ada", "Grace", "Joan", "Katherine", "Broke Bob")
    operator.post(page("run_fail", Job.objects.get(job_type="charge").pk), {"reason": "no use"})

    listed = operator.get(page("run_changelist"), {"job_type": "charge"}).text

    assert "80.00" in listed
    assert "20.00" in listed
    assert operator.get(page("jobdefinition_detail", "charge")).status_code == 200  # with how long they took


def test_the_pages_of_the_example_lead_to_the_runs(subscribe: Subscribe, gateway: AtGateway, operator: Client) -> None:
    charged(subscribe, "Ada")
    run = JobRun.objects.get(job_type="charge")

    subscriptions = operator.get(reverse("admin:subscriptions_subscription_changelist")).text
    assert f"?job_type=charge&amp;subject={run.subject}" in subscriptions
    payments = operator.get(reverse("admin:subscriptions_payment_changelist")).text
    assert page("run_detail", run.pk) in payments
