"""All pages of the app, by the entry of the menu that they stand behind."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.contrib.admin import AdminSite
from django.db.models import Model

from jobs_app.admin.pages import Page, PageAdmin
from jobs_app.models import (
    ControlEvent,
    Dashboard,
    JobDefinition,
    MaintenanceWindow,
    QueueState,
    Run,
    RuntimeSetting,
    ScheduleState,
    Subject,
    WorkerState,
)

_MODULES: dict[type[Model], list[str]] = {
    Dashboard: ["dashboard", "stale", "capacity", "everything"],
    JobDefinition: ["trigger", "job_types"],
    QueueState: ["queues"],
    ScheduleState: ["schedule_acts", "backfill", "schedules"],
    Subject: ["subjects"],
    Run: ["run_export", "bulk", "runs", "run_acts", "run_detail"],
    WorkerState: ["workers"],
    ControlEvent: ["control_events"],
    MaintenanceWindow: ["windows"],
    RuntimeSetting: ["settings"],
}


def _pages(names: list[str]) -> list[Page]:
    found = [import_module(f"jobs_app.admin.{name}") for name in names if find_spec(f"jobs_app.admin.{name}")]
    pages = [page for module in found for page in getattr(module, "PAGES", [])]
    return sorted(pages, key=lambda page: page.route != "")


MENU: dict[type[Model], list[Page]] = {model: pages for model, names in _MODULES.items() if (pages := _pages(names))}
PAGES: dict[str, Page] = {page.name: page for pages in MENU.values() for page in pages}


def register(site: AdminSite) -> None:
    """Put the app's pages into an admin site, the default one or any other."""
    for model, pages in MENU.items():
        site.register(model, type(f"{model.__name__}Admin", (PageAdmin,), {"pages": pages}))
