"""Without a mouse, and with a thumb: a queue is paused by keyboard alone, and on a telephone in two taps."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as TooLate

from jobs_app.models import Pause
from tests.admin.world import make_world
from tests.browser.site import Site
from tests.browser.visitors import NARROW, Visit
from tests.one_database import on_one_database
from tests.waiting import until

pytestmark = on_one_database

MOST_TABS = 200


@pytest.fixture(scope="module", autouse=True)
def world(db: None) -> None:
    make_world()
    Pause.objects.all().delete()


def tab_to(page: Page, text: str) -> None:
    """Go on with the Tab key until the focus is on a link, a button or a field with this name."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim().replace(/[:*]+$/, '')"
        )
        if name == text:
            return
    raise AssertionError(f"no {text!r} within {MOST_TABS} steps")


def leads_to(page: Page, keys: str, url: str) -> bool:
    """The letters must follow each other within a moment, which a busy machine may not manage the first time."""
    for key in keys:
        page.keyboard.press(key)
    try:
        page.wait_for_url(url, timeout=3000)
    except TooLate:
        return False
    return True


def test_a_queue_is_paused_by_keyboard_alone(site: Site, visit: Visit) -> None:
    page = visit(site).open("dashboard_changelist")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    until(lambda: leads_to(page, "gq", "**/queuestate/"))
    page.keyboard.press("j")  # into the table, to its first row
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pause/**")
    tab_to(page, "Reason")
    page.keyboard.type("by hand")
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist")).to_contain_text("is paused")
    assert Pause.objects.get().reason == "by hand"
    Pause.objects.all().delete()


def test_the_focus_is_seen(site: Site, visit: Visit) -> None:
    page = visit(site).open("queuestate_changelist")
    page.keyboard.press("j")
    tab_to(page, "Pause")
    outline = page.evaluate(
        "(({outlineStyle, outlineWidth, boxShadow}) => [outlineStyle, outlineWidth, boxShadow])"
        "(getComputedStyle(document.activeElement))"
    )
    assert outline[0] != "none" or outline[2] != "none", outline


@pytest.mark.parametrize("act", ["Pause everything", "Pause"])
def test_on_a_telephone_work_is_stopped_in_two_taps(act: str, site: Site, visit: Visit) -> None:
    visitor = visit(site, viewport=NARROW, has_touch=True, is_mobile=True)
    page = visitor.open("dashboard_changelist")
    page.locator("#jobs").get_by_role("link", name=act, exact=True).first.tap()
    page.get_by_label("Reason").fill("from the train")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.locator("form.jobs-form button.jobs-button-strong").tap()
    expect(page.locator(".messagelist")).to_contain_text("is paused")
    assert Pause.objects.get().reason == "from the train"
    Pause.objects.all().delete()


def test_a_row_is_a_card_on_a_telephone(site: Site, visit: Visit) -> None:
    page = visit(site, viewport=NARROW).open("queuestate_changelist")
    cell = page.locator(".jobs-table tbody td").first
    assert cell.evaluate("cell => getComputedStyle(cell).display") != "table-cell"
    label = page.locator(".jobs-table tbody td[data-label]").first
    assert label.evaluate("cell => getComputedStyle(cell, '::before').content") not in ("none", "normal")


def test_refreshing_leaves_the_focus_and_stops_while_somebody_types(site: Site, visit: Visit) -> None:
    page = visit(site).open("schedulestate_changelist")
    control = page.get_by_label("Refresh")
    expect(control).to_be_visible()
    control.select_option("0")
    page.reload()
    expect(control).to_have_value("0")  # remembered
