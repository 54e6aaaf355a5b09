"""The chain's registry of providers becomes our table: when a process first asks for them, then every four hours."""

from __future__ import annotations

import logging
from functools import cache

from examples.storage_checks.chain_client import allow_payments, listed_providers
from examples.storage_checks.models import Provider

logger = logging.getLogger(__name__)

OF_REGISTRY = ("network", "number", "address", "active", "approved")


@cache
def get_ready() -> None:
    """Once in each process that makes schedules, before it does. What fails is tried again at its next look."""
    allow_payments()
    sync()


def sync() -> str:
    """What was found. An empty registry is one that could not be read: we would stop checking everybody."""
    listed = {f"{each['network']}:{each['address']}": each for each in listed_providers()}
    if not listed:
        logger.warning("registry_empty: all providers stay as they are")
        return "the registry is empty: all providers stay as they are"
    Provider.objects.bulk_create(
        [Provider(name=name, **{fact: each[fact] for fact in OF_REGISTRY}) for name, each in listed.items()],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=OF_REGISTRY,
    )
    gone = Provider.objects.filter(active=True).exclude(name__in=listed).update(active=False)
    return f"{len(listed)} providers, {gone} have left"
