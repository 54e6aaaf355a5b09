"""Axe finds nothing serious on any page, in the light and in the dark, and no page is wider than a telephone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from jobs_app.admin.menu import PAGES
from jobs_app.models import JobAttempt
from tests.admin.samples import SAMPLES
from tests.admin.world import World, make_world
from tests.browser.site import Site
from tests.browser.visitors import NARROW, Visit
from tests.one_database import on_one_database

pytestmark = on_one_database

OURS = "#content"
GRAVE = ("serious", "critical")
ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}  # all that the dark changes
LONG_NAME = "warehouse.deliveries.carriers.tracking.ShipmentNotAtTheCarrier"
TOO_WIDE = (
    "[...document.querySelectorAll('#content section')].filter((s) => s.scrollWidth > s.clientWidth).map((s) => s.id)"
)
DOWNLOADS = {"run_export", "run_payload", "run_log", "controlevent_export"}
SHOWN = sorted(name for name in set(PAGES) - DOWNLOADS if SAMPLES[name].answers == 200)


@pytest.fixture(scope="module")
def world(site: Site) -> World:
    return make_world()


def grave_issues(page: Page, options: dict[str, Any]) -> list[str]:
    """Of what is ours: the frame around it is Django's. Colours are looked at when they have stopped changing."""
    page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
    found = Axe().run(page, context=OURS, options=options).response["violations"]
    return [
        f"{issue['id']}: {issue['help']}: {node['html'][:300]} {node.get('failureSummary', '')[:300]}"
        for issue in found
        if issue["impact"] in GRAVE
        for node in issue["nodes"]
    ]


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_has_no_serious_issue_and_fits_a_telephone(name: str, site: Site, world: World, visit: Visit) -> None:
    page = visit(site).go(SAMPLES[name].url(name, world))
    found = [f"in the light: {issue}" for issue in grave_issues(page, ALL_RULES)]
    page.emulate_media(color_scheme="dark")
    found += [f"in the dark: {issue}" for issue in grave_issues(page, COLOURS)]
    page.set_viewport_size(NARROW)
    found += [f"on a telephone: {part}" for part in wide_parts(page) if width(page) > NARROW["width"]]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["dashboard_changelist", "run_changelist"])
def test_a_long_name_of_an_error_stays_where_it_belongs(name: str, site: Site, world: World, visit: Visit) -> None:
    JobAttempt.objects.exclude(error_class="").update(error_class=LONG_NAME)
    page = visit(site).open(name)

    assert LONG_NAME in page.inner_text("#content")
    assert page.evaluate(TOO_WIDE) == []


def width(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth")


def wide_parts(page: Page) -> list[str]:
    """What sticks out, for the reader of a failure."""
    return page.evaluate(
        """() => [...document.querySelectorAll('#content *')]
            .filter((part) => part.getBoundingClientRect().right > document.documentElement.clientWidth)
            .slice(0, 5).map((part) => part.outerHTML.slice(0, 200))"""
    )
