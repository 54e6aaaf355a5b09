"""A chain with two providers, a site that checks them, and moments at which to look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command

from examples.storage_checks import chain_client, registry
from examples.storage_checks.chain import Chain, listed
from examples.storage_checks.models import Provider
from jobs_app.models import Job, ScheduleState
from jobs_app.testing import freeze_clock
from tests.examples.served import served
from tests.examples.site import Site

A, B = "main:A", "main:B"
T = datetime.fromisoformat("2026-01-05T12:00:00+00:00")


class ChainHere(Chain):
    """In this process, so that a test says to it what it likes."""

    url = ""


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChainHere]:
    chain = ChainHere([listed("main", "A", 1), listed("main", "B", 2)], {})
    with served(chain.answer) as chain.url:
        monkeypatch.setattr(chain_client, "CHAIN_URL", chain.url)  # for what runs in this process
        registry.get_ready.cache_clear()
        yield chain
        chain.release()


@pytest.fixture
def no_charts(transactional_db: None) -> None:
    """Each minute of the hours that pass here would be summed up, with a rest after each: seconds for every tick."""
    far = T + timedelta(days=3650)
    ScheduleState.objects.create(job_type="jobs.rollup", interval_seconds=60, next_run_at=far, origin="code")


@pytest.fixture
def make_checks(make_site: Callable[..., Site], chain: ChainHere, no_charts: None) -> Callable[..., Site]:
    def make(minute: float = 60, **variables: str) -> Site:
        return make_site("storage_checks", minute=minute, CHAIN_URL=chain.url, **variables)

    return make


@pytest.fixture
def providers(chain: ChainHere) -> list[str]:
    """Known already."""
    registry.sync()
    return list(Provider.objects.values_list("pk", flat=True))


def tick(site: Site, at: datetime, **variables: str) -> str:
    """`runscheduler --once` at this moment."""
    return site.manage("runscheduler", "--once", at=at, **variables)


def tick_here(at: datetime) -> None:
    """The same in this process, which takes no time."""
    with freeze_clock(at):
        call_command("runscheduler", "--once")


def after(seconds: float) -> datetime:
    return T + timedelta(seconds=seconds)


def row(job_type: str, provider: str = "") -> ScheduleState:
    return ScheduleState.objects.get(job_type=job_type, subject=provider)


def starts(job_type: str, provider: str, made_at: datetime) -> list[float]:
    """When the jobs that a tick at this moment made are due, in seconds after it, oldest slot first."""
    made = Job.objects.filter(job_type=job_type, subject=provider, queued_at=made_at).order_by("slot_at")
    return [(each.run_at - made_at).total_seconds() for each in made]
