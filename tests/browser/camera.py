"""Pictures of pages for docs/images."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from scripts.chromium import find_chromium, told_loudly

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 200_000


def chromium() -> str:
    """Without one there is nothing to do."""
    executable = find_chromium()
    if executable is None:
        sys.exit(told_loudly())
    return executable


@contextmanager
def visiting(executable: str, site: Any, username: str) -> Iterator[Any]:
    """Somebody who may do everything, in a browser. What went wrong on a page, or is too large, ends the program."""
    from tests.browser.visitors import Visitor, session_of

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        visitor = Visitor(browser, site, session_of(username, everything=True))
        yield visitor
        browser.close()
    large = [path.name for path in IMAGES.glob("*.png") if path.stat().st_size > MOST_BYTES]
    if problems := [*visitor.problems, *(f"{name} is larger than {MOST_BYTES:,} bytes" for name in large)]:
        sys.exit("\n".join(problems))


def take(page: Page, name: str) -> None:
    """Without the frame's own menu, which shows nothing of ours."""
    toggle = page.locator("#toggle-nav-sidebar")
    if toggle.count() and page.locator("#main.shifted").count():
        toggle.click()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
    page.screenshot(path=IMAGES / f"{name}.png")
    print(IMAGES.name, f"{name}.png", sep="/")  # noqa: T201
