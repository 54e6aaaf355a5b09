"""The pages stand in other looks of the admin, in the dark and from right to left: facts here, pictures kept beside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.admin.samples import SAMPLES
from tests.admin.world import World, make_world
from tests.browser.site import Site
from tests.browser.visitors import Visit
from tests.one_database import on_one_database

pytestmark = on_one_database


@dataclass(frozen=True)
class Look:
    """A site's look, and where its own menu is."""

    name: str
    menu: str
    theme: str = "stock"
    language: str = "en"
    is_dark: bool = False


LOOKS = [
    Look("stock", "#nav-sidebar"),
    Look("stock-dark", "#nav-sidebar", is_dark=True),
    Look("stock-arabic", "#nav-sidebar", language="ar"),
    Look("stock-hebrew", "#nav-sidebar", language="he"),
    Look("unfold", "#nav-sidebar", theme="unfold"),
    Look("unfold-dark", "#nav-sidebar", theme="unfold", is_dark=True),
    Look("jazzmin", "#jazzy-sidebar", theme="jazzmin"),
]
WIDER = {"width": 1440, "height": 800}  # newer releases of unfold fold their menu away at 1280
SHOWN = ["dashboard_changelist", "run_changelist", "run_detail", "schedulestate_changelist", "queuestate_pause"]


@pytest.fixture(scope="module")
def world(db: None) -> World:
    return make_world()


@pytest.fixture(scope="module")
def site_with(make_site: Callable[..., Site]) -> Callable[[Look], Site]:
    """One for each theme and language."""
    sites: dict[tuple[str, str], Site] = {}

    def give(look: Look) -> Site:
        key = (look.theme, look.language)
        if key not in sites:
            sites[key] = make_site(BROWSER_THEME=look.theme, BROWSER_LANGUAGE=look.language)
        return sites[key]

    return give


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_a_page_stands_in_another_look(
    look: Look, name: str, world: World, site_with: Callable[[Look], Site], visit: Visit, artifacts: Path
) -> None:
    visitor = visit(site_with(look), viewport=WIDER, color_scheme="dark" if look.is_dark else "light")
    page = visitor.go(SAMPLES[name].url(name, world))

    expect(page.locator("#jobs")).to_be_visible()
    assert page.locator(".jobs-nav a").count() > 5
    assert is_styled(page)
    assert not overlap(page, look.menu, "#jobs")
    assert fits(page)
    if look.language != "en":
        assert page.evaluate("getComputedStyle(document.getElementById('jobs')).direction") == "rtl"
        assert box(page, look.menu)["x"] > box(page, "#jobs")["x"]
    page.screenshot(path=artifacts / f"{look.name}-{name}.png")


def is_styled(page: Page) -> bool:
    """Our style sheet was let in: a badge of ours has its rounded edge, or a button its frame."""
    return page.evaluate("[...document.styleSheets].some((sheet) => sheet.href?.includes('jobs_app/jobs'))")


def overlap(page: Page, one: str, other: str) -> bool:
    first, second = box(page, one), box(page, other)
    beside = first["x"] + first["width"] <= second["x"] + 1 or second["x"] + second["width"] <= first["x"] + 1
    above = first["y"] + first["height"] <= second["y"] + 1 or second["y"] + second["height"] <= first["y"] + 1
    return not beside and not above


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, f"{selector} is not shown"
    return dict(found)


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
