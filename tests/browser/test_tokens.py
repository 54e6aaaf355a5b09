"""A token is made, copied from the page that has it, and gone from every page after that."""

from __future__ import annotations

import pytest
from django.db import connection
from playwright.sync_api import Error, Page, expect

from jobs_app.lifecycle.tokens import find_token
from tests.browser.site import Site
from tests.browser.test_accessibility import ALL_RULES, COLOURS, grave_issues, width
from tests.browser.visitors import NARROW, Visit
from tests.one_database import on_one_database
from tests.waiting import until

pytestmark = on_one_database


def make_token(page: Page) -> str:
    page.get_by_role("link", name="Make a token").click()
    page.get_by_label("Name").fill("crawler")
    page.get_by_label("pull: take jobs").check()
    page.get_by_role("button", name="Make a token").click()
    return page.get_by_label("Token", exact=True).input_value()


def content(page: Page) -> str:
    """Nothing while the page is about to be another one."""
    try:
        return page.content()
    except Error:
        return ""


def test_the_field_has_the_focus_and_all_of_it_is_copied_at_once(site: Site, visit: Visit) -> None:
    page = visit(site).open("apitoken_changelist")
    text = make_token(page)
    assert find_token(connection, text) is not None
    page.keyboard.press("Control+a")
    assert (
        page.evaluate("(({selectionStart: a, selectionEnd: b, value}) => value.slice(a, b))(document.activeElement)")
        == text
    )
    found = grave_issues(page, ALL_RULES)
    page.emulate_media(color_scheme="dark")
    found += grave_issues(page, COLOURS)
    page.set_viewport_size(NARROW)
    assert found == []
    assert width(page) <= NARROW["width"]


def test_no_way_back_leads_to_it(site: Site, visit: Visit) -> None:
    page = visit(site).open("apitoken_changelist")
    text = make_token(page)
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_role("row").filter(has_text=text.split("_")[1])).to_contain_text("in force")
    with pytest.raises(
        Error, match="ERR_CACHE_MISS"
    ):  # the browser kept nothing, and asks before it sends a form again
        page.go_back()
    assert text not in until(lambda: content(page))
