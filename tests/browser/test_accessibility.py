"""Axe finds nothing serious on any page, in the light and in the dark, and no page is wider than a telephone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from jobs_app.admin.menu import PAGES
from tests.admin.samples import SAMPLES
from tests.admin.world import World, make_world
from tests.browser.site import Site
from tests.browser.visitors import NARROW, Visit

GRAVE = ("serious", "critical")
ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}  # all that the dark changes
DOWNLOADS = {name for name in PAGES if "export" in name}
SHOWN = sorted(set(PAGES) - DOWNLOADS)


@pytest.fixture(scope="module")
def world(site: Site) -> World:
    return make_world()


def grave_issues(page: Page, options: dict[str, Any]) -> list[str]:
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{issue['id']}: {issue['help']}: {node['html'][:300]} {node.get('failureSummary', '')[:300]}"
        for issue in found
        if issue["impact"] in GRAVE
        for node in issue["nodes"]
    ]


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_has_no_serious_issue(name: str, site: Site, world: World, visit: Visit) -> None:
    visitor = visit(site)
    page = visitor.go(SAMPLES[name].url(name, world))
    assert grave_issues(page, ALL_RULES) == []
    page.emulate_media(color_scheme="dark")
    assert grave_issues(page, COLOURS) == []


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_fits_a_telephone(name: str, site: Site, world: World, visit: Visit) -> None:
    page = visit(site, viewport=NARROW).go(SAMPLES[name].url(name, world))
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], wide_parts(page)


def wide_parts(page: Page) -> list[str]:
    """What sticks out, for the reader of a failure."""
    return page.evaluate(
        """() => [...document.querySelectorAll('#content *')]
            .filter((part) => part.getBoundingClientRect().right > document.documentElement.clientWidth)
            .slice(0, 5).map((part) => part.outerHTML.slice(0, 200))"""
    )
