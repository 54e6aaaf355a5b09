"""Who is checked: what the registry says, what the settings ask for, and whom somebody has blocked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from prometheus_client import CollectorRegistry, generate_latest

from examples.storage_checks import chain_client, jobs, models, registry
from examples.storage_checks.chain import listed
from examples.storage_checks.gauges import ProviderGauges
from examples.storage_checks.jobs import deal, providers_refresh, retrieval
from examples.storage_checks.knobs import KNOBS
from examples.storage_checks.models import Block, Provider
from jobs_app.models import Job, ScheduleState
from jobs_app.testing import freeze_clock, run_jobs
from tests.examples.site import Site
from tests.examples.storage_checks.conftest import A, B, ChainHere, T, after, row, tick, tick_here
from tests.metrics.scraping import Page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]

Turn = Callable[..., None]

HOUR = 3600
GLOBAL = {"metrics", "metrics_cleanup", "providers_refresh"}


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.fixture
def turn(monkeypatch: pytest.MonkeyPatch) -> Turn:
    """A knob, in this process."""

    def turn(**values: bool) -> None:
        for module in (models, jobs):
            monkeypatch.setattr(module, "KNOBS", replace(KNOBS, **values))

    return turn


def rows() -> set[str]:
    return {str(each) for each in ScheduleState.objects.exclude(job_type__startswith="jobs.")}


@pytest.mark.spec("A0.7", "S0.1", "S0.11", "S0.13", "S0.14", "S0.16", "S0.47", "S0.R1", "S0.R2", "S0.R3", "S0.R6")
def test_a_registry_of_two_then_one_then_none_and_a_pause_that_outlives_a_new_rate(
    make_checks: Callable[..., Site], chain: ChainHere, operator: Client, caplog: pytest.LogCaptureFixture
) -> None:
    site = make_checks()
    tick(site, T)
    assert rows() == {f"{check} {whom}" for check in ("deal", "retrieval") for whom in (A, B)} | GLOBAL
    assert chain.asked == [("allowances", "")]

    chain.registry = [listed("main", "A", 1), listed("main", "B", 2, active=False)]
    assert "job_schedules_deleted: 2" in tick(site, after(60))
    assert rows() == {f"deal {A}", f"retrieval {A}"} | GLOBAL

    chain.registry = []
    tick_here(after(120))
    assert "registry_empty" in caplog.text
    assert rows() == {f"deal {A}", f"retrieval {A}"} | GLOBAL

    chain.registry = [listed("main", "A", 1)]
    pause = reverse("admin:jobs_app_schedulestate_pause", args=[row("deal", A).pk])
    assert operator.post(pause, {"reason": "they move"}).status_code == 302
    made = Job.objects.filter(job_type="deal", subject=A).count()
    tick(site, after(HOUR), DEALS_PER_SP_PER_HOUR="2")
    assert (row("deal", A).paused, row("deal", A).interval_seconds) == (True, 1800)
    assert Job.objects.filter(job_type="deal", subject=A).count() == made

    back = after(3 * HOUR)
    with freeze_clock(back):
        resume = reverse("admin:jobs_app_schedulestate_resume", args=[row("deal", A).pk])
        assert operator.post(resume).status_code == 302
    tick(site, back, DEALS_PER_SP_PER_HOUR="2")
    assert Job.objects.filter(job_type="deal", subject=A).count() == made + 1  # nothing of the pause


@pytest.mark.spec("S0.11", "S0.R19")
def test_without_a_chain_nothing_is_prepared_and_what_is_known_is_checked(
    chain: ChainHere, providers: list[str], turn: Turn
) -> None:
    turn(disable_chain=True)
    chain.asked.clear()

    call_command("runscheduler", "--once")

    assert chain.asked == []
    assert set(ScheduleState.objects.filter(job_type="deal").values_list("subject", flat=True)) == {A, B}


@pytest.mark.spec("S0.11")
def test_a_registry_that_cannot_be_read_at_start_is_read_at_the_next_look(chain: ChainHere, monkeypatch: Any) -> None:
    monkeypatch.setattr(chain_client, "CHAIN_URL", "http://127.0.0.1:1/")
    with pytest.raises(SystemExit, match="4"):
        call_command("runscheduler", "--once")
    assert not ScheduleState.objects.filter(job_type="deal").exists()

    monkeypatch.setattr(chain_client, "CHAIN_URL", chain.url)
    call_command("runscheduler", "--once")
    call_command("runscheduler", "--once")

    assert ScheduleState.objects.filter(job_type="deal").count() == 2
    assert chain.asked.count(("allowances", "")) == 1  # once in a process


@pytest.mark.spec("S0.15", "S0.R19")
def test_a_refresh_brings_those_who_came_and_left_into_the_schedules_of_the_next_look(
    chain: ChainHere, providers: list[str]
) -> None:
    """The same address on another network is another subject, with schedules and a key of its own."""
    chain.registry = [listed("main", "A", 1), listed("test", "A", 1)]
    providers_refresh.enqueue()
    [run] = run_jobs(job_types=providers_refresh).succeeded
    assert run.result == "2 providers, 1 have left"

    call_command("runscheduler", "--once")

    assert rows() == {f"{check} {whom}" for check in ("deal", "retrieval") for whom in (A, "test:A")} | GLOBAL
    keys = Job.objects.filter(queue="sp.work").values_list("key", flat=True)
    assert sorted(keys) == [A, A, "test:A", "test:A"]


@pytest.mark.spec("S0.R6")
def test_a_refresh_that_finds_an_empty_registry_changes_nothing_and_says_so(
    chain: ChainHere, providers: list[str]
) -> None:
    chain.registry = []
    providers_refresh.enqueue()

    [run] = run_jobs(job_types=providers_refresh).succeeded

    assert run.result == "the registry is empty: all providers stay as they are"
    assert Provider.objects.filter(active=True).count() == 2


@pytest.mark.spec("A0.7", "S0.R6")
def test_a_table_in_which_nobody_is_active_takes_no_schedule_either(
    chain: ChainHere, providers: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    call_command("runscheduler", "--once")
    Provider.objects.update(active=False)

    call_command("runscheduler", "--once")

    assert "job_schedule_deletion_skipped" in caplog.text
    assert ScheduleState.objects.filter(job_type="deal").count() == 2


@pytest.mark.spec("S0.17")
def test_approved_providers_alone_or_all_who_are_active(chain: ChainHere, turn: Turn) -> None:
    chain.registry = [
        listed("main", "A", 1),
        listed("main", "B", 2, approved=False),
        listed("main", "C", 3, active=False),
    ]
    registry.sync()

    assert [each.pk for each in Provider.objects.tested()] == [A]
    turn(use_only_approved_providers=False)
    assert [each.pk for each in Provider.objects.tested()] == [A, B]


@pytest.mark.spec("S0.R15")
@pytest.mark.parametrize("of", ["2", "B", B])
def test_who_is_blocked_has_no_schedules_and_jobs_that_wait_succeed_without_a_check(
    chain: ChainHere, providers: list[str], operator: Client, of: str
) -> None:
    waiting = [deal.enqueue(provider=B), retrieval.enqueue(provider=B)]
    block = {"of": of, "reason": "lost data"}
    assert operator.post(reverse("admin:storage_checks_block_add"), block).status_code == 302

    call_command("runscheduler", "--once")
    run_jobs(queues="sp.work")

    assert {each.subject for each in ScheduleState.objects.filter(job_type__in=["deal", "retrieval"])} == {A}
    assert [(run.refresh().status, run.result) for run in waiting] == [
        ("succeeded", f"skipped: {B} is not tested any more")
    ] * 2
    assert {whom for _, whom in chain.asked} == {"", A}


@pytest.mark.spec("S0.R19")
def test_the_gauges_tell_how_many_providers_are_active_and_how_many_are_tested(chain: ChainHere) -> None:
    chain.registry = [listed("main", "A", 1), listed("main", "B", 2), listed("test", "A", 1, active=False)]
    registry.sync()
    Block.objects.create(of=B, reason="lost data")
    shown = CollectorRegistry()
    shown.register(ProviderGauges())

    page = Page(generate_latest(shown).decode())

    assert page.value("storage_providers_active", network="main") == 2
    assert page.value("storage_providers_tested", network="main") == 1
    assert page.value("storage_providers_active", network="test") == 0
    assert page.value("storage_providers_tested", network="test") == 0


def test_the_list_of_providers_says_who_is_tested_and_leads_to_the_checks(
    chain: ChainHere, providers: list[str], operator: Client
) -> None:
    Block.objects.create(of="A", reason="lost data")
    listing = operator.get(reverse("admin:storage_checks_provider_changelist"))
    assert {each.pk: each.is_tested for each in listing.context["cl"].result_list} == {A: False, B: True}
    assert reverse("admin:jobs_app_subject_detail", args=[A]) in listing.text
