"""A person at a browser: a page that notes every error, and where it must be seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response

from tests.browser.site import HOST, Site

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
PATIENCE_MS = 20_000
LOOK_MS = 50


class Visitor:
    """One browser window, logged in. `problems` must be empty at the end of each test."""

    def __init__(self, browser: Browser, site: Site, cookie: str, **options: Any) -> None:
        self.site = site
        self.problems: list[str] = []
        self.context: BrowserContext = browser.new_context(**{"base_url": site.url, "viewport": WIDE} | options)
        if cookie:
            self.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(f"{self.page.url}: {error}"))
        self.page.on("response", self._answered)

    def open(self, name: str, *arguments: object, **query: str) -> Page:
        """Go to a page of the app by its name."""
        return self.go(admin_url(name, *arguments), **query)

    def go(self, address: str, **query: str) -> Page:
        response = self.page.goto(f"{address}?{urlencode(query)}" if query else address)
        assert response is not None
        assert response.status == 200, f"{address}: {response.status}\n{self.page.inner_text('body')[:2000]}"
        return self.page

    def wait_until(self, fact: Callable[[], object], *, seconds: float = PATIENCE_MS / 1000) -> None:
        """Wait for a fact outside of the page, and listen to the browser meanwhile."""
        deadline = time.monotonic() + seconds
        while not fact():
            assert time.monotonic() < deadline, f"not true within {seconds} s"
            self.page.wait_for_timeout(LOOK_MS)

    def _heard(self, message: ConsoleMessage) -> None:
        is_icon = message.location["url"].endswith("/favicon.ico")  # the browser asks for it by itself
        if message.type in ("error", "warning") and not is_icon:
            self.problems.append(f"{self.page.url}: {message.type}: {message.text} {message.location['url']}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"{self.page.url}: {response.status} of {response.url}")


Visit = Callable[..., Visitor]


def admin_url(name: str, *arguments: object) -> str:
    return reverse(f"admin:jobs_app_{name}", args=arguments)


def session_of(username: str, *codenames: str, everything: bool = False) -> str:
    """The cookie of somebody who has logged in; the same person again for the same name."""
    user, is_new = get_user_model().objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": everything}
    )
    if is_new and not everything:
        wanted = Permission.objects.filter(codename__in=["view_dashboard", *codenames])
        user.user_permissions.set(wanted)
    client = Client(headers={"host": HOST})
    client.force_login(user)
    return client.cookies["sessionid"].value
