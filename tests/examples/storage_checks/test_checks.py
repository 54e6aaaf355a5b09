"""What a check is, how it ends, and that a provider never has two of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from examples.storage_checks import measuring
from examples.storage_checks.chain import Manner
from examples.storage_checks.jobs import deal, metrics, metrics_cleanup, retrieval
from examples.storage_checks.models import Measurement
from jobs_app.models import Job, ScheduleState
from jobs_app.registry import registry
from jobs_app.testing import freeze_clock, run_jobs
from tests.examples.site import Site
from tests.examples.storage_checks.conftest import A, B, ChainHere, T, after
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]


@pytest.mark.spec("A0.5", "S0.4", "S0.38")
def test_two_workers_with_twenty_slots_never_ask_a_provider_for_two_things_at_once(
    make_checks: Callable[..., Site], chain: ChainHere, providers: list[str]
) -> None:
    chain.manners |= {A: Manner(holds=True), B: Manner(holds=True)}
    runs = [deal.enqueue(provider=A) for _ in range(3)]
    runs += [retrieval.enqueue(provider=A) for _ in range(2)]
    runs.append(deal.enqueue(provider=B))
    site = make_checks()
    for _ in range(2):
        site.start_worker("--concurrency", "10")

    until(lambda: len(chain.asked) == 2)
    assert {whom for _, whom in chain.asked} == {A, B}  # B beside A
    chain.release()

    until(lambda: not Job.objects.filter(queue="sp.work").exists(), seconds=60)
    assert [run.refresh().status for run in runs] == ["succeeded"] * 6
    assert (chain.most_at_once[A], chain.most_at_once[B], chain.most_at_once[""]) == (1, 1, 2)
    assert sorted(chain.asked) == [("deals", A)] * 3 + [("deals", B)] + [("retrievals", A)] * 2


@pytest.mark.spec("S0.3", "S0.4", "S0.36")
def test_four_types_in_three_queues_each_known_by_its_name_and_shown_by_its_label(client: Client) -> None:
    queues = {name: registry.get(name).queue for name in ("deal", "retrieval", "metrics", "metrics_cleanup")}
    assert queues == {
        "deal": "sp.work",
        "retrieval": "sp.work",
        "metrics": "metrics.run",
        "metrics_cleanup": "metrics.cleanup",
    }
    assert {registry.get(name).policy for name in ("deal", "retrieval")} == {"singleton"}
    assert [registry.get(name).concurrency for name in ("metrics", "metrics_cleanup")] == [1, 1]
    client.force_login(User.objects.create_superuser("ada"))
    page = client.get(reverse("admin:jobs_app_jobdefinition_detail", args=["deal"])).text
    assert "data storage check" in page


@pytest.mark.spec("S0.3", "S0.5", "S0.6")
def test_a_slot_has_its_provider_as_subject_and_the_interval_only_where_it_is_asked_for(
    chain: ChainHere, providers: list[str]
) -> None:
    call_command("runscheduler", "--once")

    told = {(each.job_type, each.subject): each.payload for each in Job.objects.all()}
    assert told == {
        ("deal", A): {"provider": A},
        ("deal", B): {"provider": B},
        ("retrieval", A): {"provider": A},
        ("retrieval", B): {"provider": B},
        ("metrics", ""): {"interval_seconds": 1800},
        ("metrics_cleanup", ""): {},
        ("providers_refresh", ""): {},
    }
    assert ScheduleState.objects.get(job_type="metrics_cleanup").interval_seconds == 7 * 24 * 3600


@pytest.mark.spec("S0.R10", "S0.R15")
@pytest.mark.parametrize(
    ("manner", "error"),
    [
        (Manner(fails_every=1), f"{A}: the proof does not fit"),  # inside an answer that says that all is well
        (Manner(is_down=True), "HTTP Error 503: Service Unavailable"),
    ],
)
def test_what_a_provider_did_not_do_is_an_error_and_is_not_tried_again(
    chain: ChainHere, providers: list[str], manner: Manner, error: str
) -> None:
    chain.manners[A] = manner
    run = deal.enqueue(provider=A)

    run_jobs(raise_errors=False)

    assert (run.refresh().status, run.error, run.attempts) == ("failed", error, 1)
    assert chain.asked.count(("deals", A)) == 1


@pytest.mark.spec("S0.3", "S0.5", "S0.R10")
def test_a_measurement_counts_success_errors_and_what_was_aborted_and_nothing_twice(
    chain: ChainHere, providers: list[str]
) -> None:
    with freeze_clock(after(-1800)) as clock:
        _check(A)  # of the interval before
        clock.move("1m")
        chain.manners[A] = Manner(fails_every=4)
        for _ in range(3):
            _check(A)  # its second, third and fourth
        chain.manners[A] = Manner(seconds=(0.3,))
        _check(A, timeout=0.1)
        _check("main:nobody")
        deal.enqueue(provider="main:somebody").cancel(actor="ada")
        clock.move_to(T)
        call_command("runscheduler", "--once")
        [run] = run_jobs(job_types=metrics).succeeded
        assert run.result == measuring.measure(after(-1800), T) == 4
    found = Measurement.objects.values_list("provider", "kind", "success", "error", "aborted")
    assert list(found) == [(A, "deal", 2, 1, 1)]


def _check(provider: str, **options: float) -> None:
    deal.options(**options).enqueue(provider=provider)
    run_jobs(job_types=deal, raise_errors=False)


@pytest.mark.spec("S0.3")
def test_old_measurements_are_deleted_and_young_ones_stay(providers: list[str]) -> None:
    for days in (89, 91):
        until = timezone.now() - timedelta(days=days)
        Measurement.objects.create(provider_id=A, kind="deal", until=until)

    metrics_cleanup.enqueue()

    assert [run.result for run in run_jobs(job_types=metrics_cleanup)] == [1]
    assert Measurement.objects.count() == 1


@pytest.mark.spec("S0.R15")
def test_a_job_of_a_type_that_nobody_knows_waits_and_keeps_nobody_from_working(
    chain: ChainHere, providers: list[str]
) -> None:
    """It may be one of another release; the page of stale runs tells of it."""
    unknown = deal.enqueue(provider=A)
    Job.objects.update(job_type="deal-of-tomorrow")
    known = deal.enqueue(provider=A)

    run_jobs()

    assert (unknown.refresh().status, known.refresh().status) == ("queued", "succeeded")
