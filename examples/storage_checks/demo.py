"""What the demo starts with: a blocked provider. The others come from the registry, and their checks from schedules."""

from __future__ import annotations

from examples.programs import Program
from examples.storage_checks.jobs import deal
from examples.storage_checks.models import Block, Provider

PROGRAMS = {"chain": Program("examples.storage_checks.chain", "CHAIN_URL", 8105)}


def fill() -> None:
    """Whoever is known by now gets one check more."""
    Block.objects.get_or_create(of="f05000", defaults={"reason": "lost what it had stored, twice"})
    for provider in Provider.objects.tested():
        deal.enqueue(provider=provider.pk)
