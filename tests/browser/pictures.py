"""Takes the pictures of docs/images from a site with made-up data: `make images`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django
from playwright.sync_api import sync_playwright

from scripts.chromium import find_chromium, told_loudly

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 150_000


def main() -> int:
    executable = find_chromium()
    if executable is None:
        print(told_loudly(), file=sys.stderr)  # noqa: T201
        return 1
    with TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'pictures.sqlite3'}"
        os.environ |= {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
            "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
            "SHOP_GATES": name,
        }
        django.setup()
        with _site(url, folder) as (site, world):
            return _take_all(site, world, executable)


@contextmanager
def _site(url: str, folder: Path) -> Iterator[tuple[Any, Any]]:
    from django.core.management import call_command

    from tests.browser.gallery import make_gallery
    from tests.browser.site import Site

    call_command("migrate", verbosity=0)
    world = make_gallery()
    site = Site(url, folder)
    try:
        site.start_web()
        yield site, world
    finally:
        site.stop()


def _addresses(world: Any) -> dict[str, str]:
    from tests.browser.visitors import admin_url

    return {
        "dashboard": admin_url("dashboard_changelist"),
        "job-types": admin_url("jobdefinition_changelist"),
        "trigger": admin_url("jobdefinition_trigger", "send-report"),
        "queues": admin_url("queuestate_changelist"),
        "schedules": admin_url("schedulestate_changelist"),
        "schedule-form": admin_url("schedulestate_edit", world.code_schedule),
        "subjects": admin_url("subject_changelist"),
        "runs": admin_url("run_changelist"),
        "run": admin_url("run_detail", world.queued),
        "stale": admin_url("dashboard_stale"),
        "workers": admin_url("workerstate_changelist"),
        "capacity": admin_url("dashboard_capacity"),
        "events": admin_url("controlevent_changelist"),
        "settings": admin_url("runtimesetting_changelist"),
    }


def _take_all(site: Any, world: Any, executable: str) -> int:
    from tests.browser.visitors import Visitor, session_of

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        visitor = Visitor(browser, site, session_of("ada", everything=True))
        for name, address in _addresses(world).items():
            _take(visitor, name, address)
        visitor.page.emulate_media(color_scheme="dark")
        _take(visitor, "dashboard-dark", _addresses(world)["dashboard"])
        browser.close()
    large = [path.name for path in IMAGES.glob("*.png") if path.stat().st_size > MOST_BYTES]
    problems = [*visitor.problems, *(f"{name} is larger than {MOST_BYTES:,} bytes" for name in large)]
    print("\n".join(problems) or f"{len(list(IMAGES.glob('*.png')))} pictures in {IMAGES.name}/")  # noqa: T201
    return 1 if problems else 0


def _take(visitor: Any, name: str, address: str) -> None:
    """Without the frame's own menu, which shows nothing of ours."""
    page = visitor.go(address)
    if name == "trigger":
        page.locator("[name$=customer]").fill("acme")
        page.locator("[name$=month]").select_option("November")
        page.wait_for_selector("#jobs-preview h2")
    toggle = page.locator("#toggle-nav-sidebar")
    if toggle.count() and page.locator("#main.shifted").count():
        toggle.click()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
