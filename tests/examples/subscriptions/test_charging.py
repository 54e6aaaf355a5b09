"""A payment is made once, however often it is tried, and by whomever."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from examples.subscriptions.jobs import charge
from examples.subscriptions.models import Payment, Plan, Subscription
from jobs_app.models import Job, JobAttempt, Run
from jobs_app.testing import freeze_clock, run_jobs
from tests.examples.site import Site
from tests.examples.subscriptions.conftest import MONTH, AtGateway, Subscribe
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "📊 Worker completed - Processed: {} | Success: {} | Retry: {} | Failed: {}"
MINUTE = 0.1  # seconds: six tries over 31 minutes


@pytest.mark.spec("A4.4", "S4.1", "S4.6", "S4.7", "S4.8", "S4.15", "S4.17", "S4.18", "S4.R4")
def test_of_five_one_fails_and_the_sum_says_so(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway
) -> None:
    site = make_payments()
    for payer in ("Ada", "Grace", "Joan", "Katherine", "Broke Bob"):
        subscribe(payer)
    site.manage("runscheduler", "--once")  # and it is gone when the worker comes

    told = site.manage("runworker", "--once")

    assert "📊 Found 5 pending jobs to process" in told
    assert SUMMARY.format(5, 4, 1, 0) in told
    bob = Subscription.objects.get(payer="Broke Bob")
    run = Run.objects.get(job_type="charge", subject=str(bob.pk))
    assert f"📦 Processing job {run.pk} for charge {bob.pk} (attempt 1/6)" in told
    assert f"❌ Job {run.pk} failed: the card of Broke Bob was declined" in told
    assert re.search(rf"🔄 Job {run.pk} scheduled for retry 1/5 at \d{{4}}-\S+\.\d{{3}}Z", told)
    assert len(gateway.charges()) == 4
    assert [(paid.status, paid.error) for paid in bob.payments.all()] == [
        ("FAILED", "the card of Broke Bob was declined")
    ]
    assert bob.status == "ACTIVE"


@pytest.mark.spec("A4.4", "S4.12", "S4.20")
def test_one_that_fails_twice_is_paid_at_its_third_try_which_waits_for_its_time(
    subscribe: Subscribe, gateway: AtGateway
) -> None:
    ada = subscribe("Ada")
    gateway.behave("Ada", down=2)
    call_command("runscheduler", "--once")
    run, waits = Run.objects.get(job_type="charge"), []

    with freeze_clock() as clock:
        for wait in ("59s", "119s"):
            assert len(run_jobs(raise_errors=False).retrying) == 1
            run.refresh_from_db()
            waits.append(run.run_at - clock.now)
            clock.move(wait)
            assert not run_jobs()  # not before its time
            clock.move("1s")
        assert len(run_jobs().succeeded) == 1
    assert waits == [timedelta(seconds=60), timedelta(seconds=120)]
    assert list(ada.payments.order_by("attempt").values_list("status", flat=True)) == ["FAILED", "FAILED", "SUCCESS"]


@pytest.mark.spec("A4.2", "S4.9", "S4.10", "S4.11", "S4.14", "S4.R2", "S4.R4")
def test_who_never_pays_is_tried_six_times_over_31_minutes_and_then_expires(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway
) -> None:
    site, bob = make_payments(minute=MINUTE), subscribe("Broke Bob")
    site.start_worker()
    site.start_scheduler()
    until(lambda: Run.objects.filter(job_type="charge", state="failed").exists(), seconds=60)
    run = Run.objects.get(job_type="charge")
    until(lambda: Subscription.objects.get().status == "EXPIRED")

    tries = list(JobAttempt.objects.filter(job_id=run.pk).order_by("number"))
    # Two minutes are a fifth of a second here, which is not enough for every machine.
    assert {one.outcome for one in tries} <= {"error", "timeout"}
    begun = [(one.started_at - tries[0].started_at).total_seconds() / MINUTE for one in tries]
    assert [late >= planned for late, planned in zip(begun, (0, 1, 3, 7, 15, 31), strict=True)] == [True] * 6
    assert run.finished_at == tries[-1].finished_at
    assert (run.attempts, run.max_attempts, run.state) == (6, 6, "failed")
    until(lambda: bob.payments.count() == 6)
    assert set(bob.payments.values_list("status", "due_at")) == {("FAILED", bob.next_due_at)}
    assert gateway.charges() == []
    assert "✅ 0 jobs scheduled successfully" in site.manage("runscheduler", "--once")
    assert Run.objects.filter(job_type="charge").count() == 1


@pytest.mark.spec("A4.5", "S4.R3")
def test_the_next_due_date_follows_from_the_old_one_however_late_it_is_paid(
    subscribe: Subscribe, gateway: AtGateway
) -> None:
    due_at = timezone.now() - timedelta(hours=6)
    ada = subscribe("Ada", due_at=due_at)

    call_command("runscheduler", "--once")
    run_jobs()

    ada.refresh_from_db()
    assert ada.next_due_at == due_at + MONTH
    assert ada.last_paid_at > due_at + timedelta(hours=5)
    paid = ada.payments.get()
    assert (paid.status, paid.due_at, paid.amount) == ("SUCCESS", due_at, Decimal("4.90"))


@pytest.mark.spec("A4.5", "S4.R3")
def test_a_worker_killed_after_the_charge_is_followed_by_another_that_charges_nothing_more(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway
) -> None:
    site, ada = make_payments(), subscribe("Ada")
    gateway.behave("Ada", hold=True)
    site.manage("runscheduler", "--once")
    first = site.start_worker()
    until(gateway.charges)
    first.kill()
    assert not Payment.objects.exists()

    gateway.release()
    site.start_worker()
    until(lambda: Run.objects.filter(job_type="charge", state="succeeded").exists(), seconds=60)

    [charged] = gateway.charges()
    assert (charged["payer"], charged["repeats"]) == ("Ada", 1)
    paid = ada.payments.get(status="SUCCESS")
    assert (paid.reference, paid.key) == (charged["reference"], charged["key"])
    run = Run.objects.get(job_type="charge")
    assert list(JobAttempt.objects.filter(job_id=run.pk).values_list("outcome", flat=True)) == ["lost", "success"]


@pytest.mark.spec("A4.5")
def test_a_gateway_that_hangs_up_after_the_charge_is_asked_again_by_the_same_key(
    subscribe: Subscribe, gateway: AtGateway
) -> None:
    ada = subscribe("Ada")
    gateway.behave("Ada", hang_up=True)

    charge.enqueue(subscription=ada.pk)
    assert len(run_jobs(raise_errors=False).retrying) == 1
    assert len(run_jobs(at="1m").succeeded) == 1

    assert [charged["repeats"] for charged in gateway.charges()] == [1]
    assert [paid.status for paid in ada.payments.order_by("attempt")] == ["FAILED", "SUCCESS"]


@pytest.mark.spec("A4.5", "S4.R5", "S4.25")
def test_two_processors_at_once_charge_each_once(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway
) -> None:
    site = make_payments()
    payers = {f"Payer {number}" for number in range(12)}
    for payer in payers:
        subscribe(payer)
    site.manage("runscheduler", "--once")

    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: site.manage("runworker", "--once"), range(2)))

    assert sorted(charged["payer"] for charged in gateway.charges()) == sorted(payers)
    assert {charged["repeats"] for charged in gateway.charges()} == {0}
    assert Payment.objects.filter(status="SUCCESS").count() == len(payers)


@pytest.mark.spec("S4.24")
def test_no_more_is_charged_than_the_gateway_takes_and_the_rest_waits_for_its_turn(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway
) -> None:
    site = make_payments(GATEWAY_RATE="1/hour")
    for payer in ("Ada", "Grace", "Joan"):
        subscribe(payer)
    site.manage("runscheduler", "--once")
    site.start_worker()

    until(Payment.objects.exists, seconds=60)

    waiting = Job.objects.filter(job_type="charge", state="queued")
    assert waiting.count() == 2
    assert "because the rate of its job type, 1 in 3600 seconds" in site.manage("jobs", "show", str(waiting.first().pk))
    assert len(gateway.charges()) == 1


@pytest.mark.spec("S4.R3")
def test_what_was_paid_is_not_charged_again_though_somebody_triggers_it(
    subscribe: Subscribe, gateway: AtGateway
) -> None:
    ada = subscribe("Ada")
    facts = {"amount": 1, "currency": "EUR", "key": "by hand", "reference": "cash", "run_id": "0" * 32, "attempt": 1}
    ada.payments.create(due_at=ada.next_due_at, status="SUCCESS", made_at=timezone.now(), **facts)
    charge.enqueue(subscription=ada.pk)

    [run] = run_jobs().succeeded

    assert run.result == "paid before, cash"
    assert gateway.charges() == []
    due_at = ada.next_due_at
    ada.refresh_from_db()
    assert ada.next_due_at == due_at + MONTH  # and it is not due any more


@pytest.mark.spec("S4.R3")
def test_a_job_made_by_a_look_before_the_payment_charges_nothing_before_its_time(
    subscribe: Subscribe, gateway: AtGateway
) -> None:
    """Of two schedulers, the slower one has read that Ada is due when the job of the other one ends."""
    ada = subscribe("Ada")
    charge.enqueue(subscription=ada.pk)
    run_jobs()
    charge.enqueue(subscription=ada.pk)

    [run] = run_jobs().succeeded

    ada.refresh_from_db()
    assert run.result == f"not due before {ada.next_due_at:%Y-%m-%d %H:%M:%S}"
    assert len(gateway.charges()) == ada.payments.count() == 1


@pytest.mark.spec("S4.25")
def test_who_pays_for_the_same_plan_does_not_wait_for_the_charge_of_another(
    make_payments: Callable[..., Site], subscribe: Subscribe, gateway: AtGateway, is_postgres: bool
) -> None:
    if not is_postgres:
        pytest.skip("SQLite has one writer at a time")
    site = make_payments()
    for payer in ("Ada", "Grace"):
        subscribe(payer)
        gateway.behave(payer, hold=True)
    site.manage("runscheduler", "--once")
    site.start_worker()

    until(lambda: len(gateway.charges()) == 2)
    gateway.release()
    until(lambda: Payment.objects.filter(status="SUCCESS").count() == 2)


@pytest.mark.spec("S4.R5")
def test_a_plan_without_a_period_is_refused() -> None:
    plan = Plan(name="for ever", amount=1, period=timedelta(0))
    with pytest.raises(ValidationError, match="period"):
        plan.full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        plan.save()


@pytest.mark.spec("S4.R6")
def test_both_commands_end_with_0_when_they_are_told_to_stop(make_payments: Callable[..., Site]) -> None:
    site = make_payments()
    worker, scheduler = site.start_worker(), site.start_scheduler()
    scheduler.wait_for_log("started")

    for program in (worker, scheduler):
        program.signal(signal.SIGTERM)
    assert [program.process.wait(30) for program in (worker, scheduler)] == [0, 0]
