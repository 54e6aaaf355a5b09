"""The ground that all other browser tests stand on: the stock admin lives under the policy, and errors are heard."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from tests.browser.policy import POLICY
from tests.browser.site import Site
from tests.browser.visitors import Visit
from tests.one_database import on_one_database

pytestmark = on_one_database


def test_somebody_logs_in_to_the_stock_admin_under_a_strict_policy(site: Site, visit: Visit) -> None:
    get_user_model().objects.create_superuser("grace", password="correct horse")
    page = visit(site, anonymous=True).go("/admin/login/")

    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("heading", name="Site administration")).to_be_visible()
    assert page.reload().headers["content-security-policy"] == POLICY  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "breach",
    [
        "document.body.setAttribute('style', 'color: red'), document.body.innerHTML += '<b style=\"color: red\">x</b>'",
        "document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))",
        "setTimeout(() => { throw new Error('oh') })",
        "console.error('oh')",
        "fetch('/nowhere/')",
    ],
)
def test_no_breach_and_no_error_goes_unheard(site: Site, visit: Visit, breach: str) -> None:
    visitor = visit(site, anonymous=True)
    page = visitor.go("/admin/login/")

    page.evaluate(f"() => {{ {breach} }}")
    visitor.wait_until(lambda: visitor.problems)
    visitor.problems.clear()
