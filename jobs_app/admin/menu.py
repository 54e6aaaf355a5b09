"""All pages of the app, by the entry of the menu that they stand behind."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.db.models import Model

from jobs_app.admin import (
    backfill,
    bulk,
    capacity,
    control_events,
    dashboard,
    everything,
    job_types,
    queues,
    run_acts,
    run_detail,
    run_export,
    runs,
    schedule_acts,
    schedules,
    settings,
    stale,
    subjects,
    tokens,
    trigger,
    windows,
    workers,
)
from jobs_app.admin.pages import Page, PageAdmin
from jobs_app.models import (
    ApiToken,
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

# The first page of an entry is where it leads. Names may be any text, so what ends in a name stands last.
MENU: dict[type[Model], list[Page]] = {
    Dashboard: [*dashboard.PAGES, *stale.PAGES, *capacity.PAGES, *everything.PAGES],
    JobDefinition: [*job_types.LIST, *trigger.PAGES, *job_types.PAGES],
    QueueState: queues.PAGES,
    ScheduleState: [*schedules.PAGES, *schedule_acts.PAGES, *backfill.PAGES],
    Subject: subjects.PAGES,
    Run: [*runs.PAGES, *run_export.PAGES, *bulk.PAGES, *run_acts.PAGES, *run_detail.PAGES],
    WorkerState: workers.PAGES,
    ControlEvent: control_events.PAGES,
    MaintenanceWindow: windows.PAGES,
    RuntimeSetting: settings.PAGES,
    ApiToken: tokens.PAGES,
}
PAGES: dict[str, Page] = {page.name: page for pages in MENU.values() for page in pages}


def register(site: AdminSite) -> None:
    """Put the app's pages into an admin site, the default one or any other."""
    for model, pages in MENU.items():
        site.register(model, type(f"{model.__name__}Admin", (PageAdmin,), {"pages": pages}))
