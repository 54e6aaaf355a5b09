"""A browser and a site of its own for each file of browser tests."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from playwright.sync_api import Browser, expect, sync_playwright

from scripts.chromium import MISSING, find_chromium, is_required
from tests.browser.site import ROOT, Site
from tests.browser.visitors import PATIENCE_MS, Visitor, session_of
from tests.conftest import url_of_test_database

ARTIFACTS = ROOT / ".local" / "browser"
LONGEST_LOG = 6000
QUIET = (  # nothing of the browser's own goes to the network or waits for it
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with the file: while it is there, its event loop runs in this thread, and others would stumble over it."""
    executable = find_chromium()
    if executable is None:
        (pytest.fail if is_required() else pytest.skip)(MISSING)
    expect.set_options(timeout=PATIENCE_MS)
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*QUIET, *as_root])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def db(browser: Browser, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Here the rows of a whole file, which other processes see; the tables are empty again after it. Within the time of
    the browser: while its loop runs, this thread has another connection, to be closed before."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        # Playwright's loop belongs to this thread, but nothing of ours runs on it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield
        call_command("flush", verbosity=0, interactive=False)
        connections.close_all()


@pytest.fixture(scope="module")
def make_site(browser: Browser, db: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Sites on this file's database, each with its own settings."""
    sites: list[Site] = []

    def make(**variables: str) -> Site:
        site = Site(url_of_test_database(), tmp_path_factory.mktemp("site"), **variables)
        sites.append(site)
        site.start_web()
        return site

    yield make
    for site in sites:
        site.stop()


@pytest.fixture(scope="module")
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


@pytest.fixture(scope="module")
def working_site(site: Site) -> Site:
    """With a worker and a scheduler."""
    site.start_worker("--queues", "default,reports,stock")
    site.start_scheduler()
    return site


@pytest.fixture
def visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Site]]:
    """Open a window on a site; every error that any of them meets fails the test, and is kept with a picture of it."""
    visitors: list[Visitor] = []

    def open_window(
        site: Site,
        *codenames: str,
        username: str = "ada",
        everything: bool = True,
        anonymous: bool = False,
        **options: Any,
    ) -> Visitor:
        cookie = "" if anonymous else session_of(username, *codenames, everything=everything and not codenames)
        visitors.append(Visitor(browser, site, cookie, **options))
        return visitors[-1]

    yield open_window
    failed = getattr(request.node, "failed", False)
    for number, visitor in enumerate(visitors):
        if failed or visitor.problems:
            ARTIFACTS.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.-]+", "-", request.node.name)
            visitor.page.screenshot(path=ARTIFACTS / f"failed-{name}-{number}.png", full_page=True)
            request.node.add_report_section("call", "the site", visitor.site.logs()[-LONGEST_LOG:])
        visitor.context.close()
    problems = [problem for visitor in visitors for problem in visitor.problems]
    assert not problems, "\n".join(problems)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    if report.failed:
        item.failed = True  # type: ignore[attr-defined]
    return report


@pytest.fixture
def artifacts() -> Path:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    return ARTIFACTS
