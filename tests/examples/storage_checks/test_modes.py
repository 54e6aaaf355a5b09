"""Which processes run, and what each of them does and shows."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from django.db import connection
from prometheus_client import CollectorRegistry, generate_latest

from examples.storage_checks.jobs import deal
from jobs_app.insights.gauges import read
from jobs_app.metrics.gauges import DatabaseGauges
from jobs_app.models import Job, JobRun, ScheduleState
from jobs_app.testing import freeze_clock
from jobsite.processes import free_port
from tests.examples.site import HOST, Site
from tests.examples.storage_checks.conftest import A, ChainHere, after
from tests.metrics.scraping import Page, ask, scrape
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SUCCEEDED = {"job_type": "deal", "outcome": "succeeded"}


def made() -> int:
    return ScheduleState.objects.filter(last_run_at__isnull=False).count()


@pytest.mark.spec("A0.8", "S0.33", "S0.34", "S0.35", "S0.45", "S0.R19")
def test_web_and_scheduler_run_nothing_workers_enqueue_nothing_and_nobody_does_where_it_is_switched_off(
    make_checks: Callable[..., Site], chain: ChainHere
) -> None:
    """Five checks a second would be due for each provider, if somebody enqueued them."""
    patience = {"DEAL_TIMEOUT_SECONDS": "36000", "SHUTDOWN_FINAL_SCRAPE_DELAY_SECONDS": "0"}  # a minute for each deal
    site = make_checks(minute=0.1, JOBS_METRICS_PUBLIC="1", **patience)
    web = int(site.start_web().rpartition(":")[2])
    scheduler = site.start_scheduler()
    until(lambda: Job.objects.filter(job_type="deal").count() >= 2, seconds=60)
    until(lambda: (scrape(web).value("jobs_queued", job_type="deal") or 0) > 0, seconds=60, every=0.5)
    page = scrape(web)
    assert page.value("storage_providers_active", network="main") == 2
    assert page.value("jobs_in_flight", job_type="deal") == 0
    assert not JobRun.objects.filter(queue="sp.work").exists()
    assert {what for what, _ in chain.asked} == {"allowances"}
    scheduler.signal(signal.SIGTERM)
    assert scheduler.process.wait(60) == 0

    left = Job.objects.filter(job_type="deal").count()
    slots = set(ScheduleState.objects.values_list("pk", "next_run_at"))
    alone, both = free_port(HOST, 0), free_port(HOST, 0)
    site.start_worker("--metrics-port", str(alone))
    off = site.start_worker("--with-scheduler", "--metrics-port", str(both), SCHEDULER_ENABLED="false")
    off.wait_for_log("the scheduler is switched off")
    until(lambda: not Job.objects.filter(queue="sp.work").exists(), seconds=60)
    until(lambda: sum(scrape(port).value("jobs_completed_total", **SUCCEEDED) or 0 for port in (alone, both)) == left)
    assert set(ScheduleState.objects.values_list("pk", "next_run_at")) == slots  # though they are long due
    assert ask(alone, "/readyz")[0] == 200


@pytest.mark.spec("A0.8", "S0.R11", "S0.R12")
def test_two_deals_that_wait_are_two_and_as_old_as_the_older_one(chain: ChainHere, providers: list[str]) -> None:
    for age in (40, 12):
        with freeze_clock(after(-age)):
            deal.enqueue(provider=A)
    shown = CollectorRegistry()
    with freeze_clock(after(0)):
        shown.register(DatabaseGauges(lambda: read(connection)))
        page = Page(generate_latest(shown).decode())
    assert page.value("jobs_queued", job_type="deal") == 2
    assert page.value("oldest_queued_age_seconds", job_type="deal") == 40
    assert page.value("jobs_queued", job_type="retrieval") == 0
    assert page.value("oldest_queued_age_seconds", job_type="retrieval") == 0
