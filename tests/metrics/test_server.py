"""The port of a worker or scheduler."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from jobs_app.health import Health
from jobs_app.metrics.server import Port, serving
from jobsite.processes import free_port
from tests.metrics.scraping import HOST, ask, scrape
from tests.waiting import until

pytestmark = pytest.mark.django_db


class Site:
    """One port, and what is wrong with its process."""

    def __init__(self) -> None:
        self.health = Health()
        registry = CollectorRegistry()
        self.counter = Counter("done", "", registry=registry)
        self.port = Port(registry, lambda: self.health)
        self.number = free_port(HOST, 0)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    with serving(made.port, HOST, made.number):
        yield made


def test_alive_and_ready_are_two_questions(site: Site) -> None:
    assert ask(site.number, "/livez") == ask(site.number, "/readyz") == (200, "ok\n")
    site.health = Health(unready=["it takes no more jobs"])
    assert ask(site.number, "/livez") == (200, "ok\n")
    assert ask(site.number, "/readyz/") == (503, "it takes no more jobs\n")
    site.health = Health(["jobs-claimer stands still"], ["x"])
    assert ask(site.number, "/livez") == (503, "jobs-claimer stands still\n")
    assert ask(site.number, "/readyz") == (503, "jobs-claimer stands still\nx\n")
    assert ask(site.number, "/other")[0] == 404


def scrape_once(site: Site) -> None:
    """The answer may be read before the server knows that it was sent."""
    scrape(site.number)
    until(lambda: site.port._scraped_at > float("-inf"), every=0.01)


def waits(site: Site, seconds: float = 30) -> threading.Thread:
    thread = threading.Thread(target=site.port.wait_for_last_scrape, args=(seconds, lambda: False))
    thread.start()
    return thread


def test_the_last_scrape_is_waited_for_until_it_was_sent(site: Site) -> None:
    scrape_once(site)
    site.counter.inc(7)
    waiting = waits(site)
    assert scrape(site.number).value("done_total") == 7
    waiting.join(20)
    assert not waiting.is_alive()


def test_a_scrape_that_began_before_has_not_the_last_counts(site: Site) -> None:
    sent: list[Any] = []
    early = site.port({"PATH_INFO": "/metrics", "REQUEST_METHOD": "GET"}, lambda *given: sent.append(given))
    scrape_once(site)
    waiting = waits(site)
    early.close()  # type: ignore[attr-defined]
    waiting.join(0.5)
    assert waiting.is_alive()
    scrape(site.number)
    waiting.join(20)
    assert not waiting.is_alive()


@pytest.mark.parametrize(("is_scraped", "seconds"), [(False, 30), (True, 0)])
def test_nobody_is_waited_for_in_vain(site: Site, is_scraped: bool, seconds: float) -> None:
    if is_scraped:
        scrape_once(site)
    waiting = waits(site, seconds)
    waiting.join(20)
    assert not waiting.is_alive()
