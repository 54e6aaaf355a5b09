"""Two checks of each provider, which never run beside each other, and the work around them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from examples.pace import minutes, per_hour
from examples.storage_checks import chain_client, measuring, registry
from examples.storage_checks.knobs import KNOBS
from examples.storage_checks.models import Provider
from jobs_app import current_job, job, subjects

SPREAD = minutes(60 * KNOBS.job_catchup_spread_hours)
MEASURED_EVERY = max(1, round(3600 / per_hour(KNOBS.metrics_per_hour)))  # seconds
WEEK = minutes(7 * 24 * 60)
Check = Callable[[str, float], str]


@subjects("deal", "retrieval")
def tested_providers() -> QuerySet[Provider]:
    """Each has a schedule for both checks, for as long as it is tested."""
    if not KNOBS.disable_chain:
        registry.get_ready()
    return Provider.objects.tested()


@job(
    label="data storage check",
    queue="sp.work",
    preset="rate",  # one at a time per provider, both checks together; the next slot is the retry
    subject="provider",
    per_hour=per_hour(KNOBS.deals_per_sp_per_hour),
    spread=SPREAD,
    timeout=minutes(KNOBS.deal_timeout_seconds / 60),
)
def deal(provider: str) -> str:
    """Stores data with the provider, and has it proved."""
    return _check(chain_client.store_and_prove, provider)


@job(
    label="data retrieval check",
    queue="sp.work",
    preset="rate",
    subject="provider",
    per_hour=per_hour(KNOBS.retrievals_per_sp_per_hour),
    spread=SPREAD,
    timeout=minutes(KNOBS.retrieval_timeout_seconds / 60),
)
def retrieval(provider: str) -> str:
    """Fetches what the provider stored."""
    return _check(chain_client.fetch_and_compare, provider)


@job(
    queue="metrics.run",
    preset="rate",
    concurrency=1,
    every=MEASURED_EVERY,
    payload={"interval_seconds": MEASURED_EVERY},
)
def metrics(interval_seconds: int) -> int:
    """Sums up how the checks of the last interval went."""
    running = current_job().claimed
    until = running.slot_at or running.queued_at
    return measuring.measure(until - timedelta(seconds=interval_seconds), until)


@job(queue="metrics.cleanup", preset="rate", concurrency=1, every=WEEK)
def metrics_cleanup() -> int:
    """Deletes old measurements; how many there were."""
    return measuring.forget(before=timezone.now() - timedelta(seconds=minutes(KNOBS.metrics_keep_days * 24 * 60)))


@job(queue="providers", preset="rate", concurrency=1, every=minutes(4 * 60), enabled=not KNOBS.disable_chain)
def providers_refresh() -> str:
    """Reads the registry again."""
    return registry.sync()


def _check(check: Check, provider: str) -> str:
    """A job may have waited for long, or met somebody who blocked its provider meanwhile."""
    if not Provider.objects.tested().filter(pk=provider).exists():
        return f"{measuring.SKIPPED}: {provider} is not tested any more"
    return check(provider, current_job().remaining(limit=minutes(KNOBS.deal_timeout_seconds / 60)))
