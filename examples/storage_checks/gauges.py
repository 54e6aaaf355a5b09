"""How many providers there are, in the site's own metrics, beside those of the jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import connection
from django.db.models import Count
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from examples.storage_checks.models import Provider, Providers


class ProviderGauges(Collector):
    def describe(self) -> Iterable[Metric]:
        """Nothing: who registers this at its start must not ask the database then."""
        return ()

    def collect(self) -> Iterator[Metric]:
        was_open = connection.connection is not None  # each scrape may have a thread of its own
        try:
            networks = list(Provider.objects.order_by("network").values_list("network", flat=True).distinct())
            active = _by_network(Provider.objects.filter(active=True))
            tested = _by_network(Provider.objects.tested())
        except Exception:
            return  # whatever else is scraped with these is still told
        finally:
            if not was_open:
                connection.close()
        yield _gauge("storage_providers_active", "Active in the registry", networks, active)
        yield _gauge("storage_providers_tested", "Whose storage is checked", networks, tested)


def show() -> None:
    REGISTRY.register(ProviderGauges())


def _by_network(found: Providers) -> dict[str, int]:
    return dict(found.order_by().values_list("network").annotate(Count("pk")))


def _gauge(name: str, text: str, networks: list[str], numbers: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["network"])
    for network in networks:
        family.add_metric([network], numbers.get(network, 0))
    return family
