"""Takes the pictures of docs/images from a site with made-up data: `make images`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django

from tests.browser.camera import chromium, take, visiting


def main() -> None:
    executable = chromium()
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
        with _site(url, folder) as (site, world), visiting(executable, site, "ada") as visitor:
            _take_all(visitor, world)


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


def _take_all(visitor: Any, world: Any) -> None:
    for name, address in _addresses(world).items():
        page = visitor.go(address)
        if name == "trigger":
            page.locator("[name$=customer]").fill("acme")
            page.locator("[name$=month]").select_option("November")
            page.wait_for_selector("#jobs-preview h2")
        take(page, name)
    visitor.page.emulate_media(color_scheme="dark")
    take(visitor.go(_addresses(world)["dashboard"]), "dashboard-dark")


if __name__ == "__main__":
    main()
