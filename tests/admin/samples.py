"""An address of every page in a world that has one of everything, and for acts what is posted there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from tests.admin.world import ALIVE, World

Arguments = Callable[[World], tuple[object, ...]]


@dataclass(frozen=True)
class Sample:
    """`data` is what somebody fills in, beside what the form has already, so that the act is done."""

    arguments: Arguments = lambda world: ()
    query: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    answers: int = 200
    done: int = 302  # what the act answers

    def url(self, name: str, world: World) -> str:
        address = reverse(f"admin:jobs_app_{name}", args=self.arguments(world))
        return f"{address}?{urlencode(self.query)}" if self.query else address


def named(name: str) -> Arguments:
    return lambda world: (name,)


def run(state: str) -> Arguments:
    return lambda world: (getattr(world, state),)


def thing(name: str) -> Arguments:
    return lambda world: (getattr(world, name),)


WHY = {"reason": "a test"}
CARD, REPORTS, ACME = named("charge-card"), named("reports"), named("acme")
OWN = thing("schedule")
OF_TYPE = {"job_type": "sync-stock"}

SAMPLES: dict[str, Sample] = {
    "dashboard_changelist": Sample(),
    "dashboard_stale": Sample(),
    "dashboard_capacity": Sample(),
    "dashboard_reconcile": Sample(query={"kind": "expired"}, data=WHY),
    "dashboard_pause_all": Sample(data=WHY),
    "dashboard_resume_all": Sample(data=WHY),
    "jobdefinition_changelist": Sample(),
    "jobdefinition_trigger": Sample(CARD, data={**WHY, "payload-order": "7"}),
    "jobdefinition_pause": Sample(CARD, data=WHY),
    "jobdefinition_resume": Sample(named("sync-stock"), data=WHY),
    "jobdefinition_detail": Sample(CARD),
    "queuestate_changelist": Sample(),
    "queuestate_pause": Sample(REPORTS, data=WHY),
    "queuestate_resume": Sample(named("stock"), data=WHY),
    "queuestate_limit": Sample(REPORTS, data={**WHY, "concurrency": "5"}),
    "queuestate_unlimit": Sample(REPORTS, data=WHY),
    "queuestate_detail": Sample(REPORTS),
    "schedulestate_changelist": Sample(),
    "schedulestate_add": Sample(data={**WHY, "job_type": "poll-prices", "name": "new", "kind": "every", "value": "2h"}),
    "schedulestate_edit": Sample(OWN, data={**WHY, "value": "2h"}),
    "schedulestate_pause": Sample(OWN, data=WHY),
    "schedulestate_resume": Sample(thing("paused_schedule"), data=WHY),
    "schedulestate_trigger": Sample(OWN, data=WHY),
    "schedulestate_restore": Sample(thing("code_schedule"), data=WHY),
    "schedulestate_delete": Sample(OWN, data=WHY),
    "schedulestate_backfill": Sample(OWN, data=WHY),
    "schedulestate_bulk_pause": Sample(query=OF_TYPE, data=WHY),
    "schedulestate_bulk_resume": Sample(query={"state": "paused"}, data=WHY),
    "schedulestate_bulk_trigger": Sample(query=OF_TYPE, data=WHY),
    "schedulestate_bulk_backfill": Sample(query=OF_TYPE, data=WHY),
    "schedulestate_detail": Sample(OWN),
    "subject_changelist": Sample(),
    "subject_pause": Sample(named("Bremen"), data=WHY),
    "subject_resume": Sample(ACME, data=WHY),
    "subject_detail": Sample(ACME),
    "run_changelist": Sample(),
    "run_export": Sample(query={"state": "failed"}),
    "run_bulk_retry": Sample(query={"state": "failed"}, data=WHY),
    "run_bulk_cancel": Sample(query={"state": "waiting"}, data=WHY),
    "run_bulk_abort": Sample(query={"state": "live"}, data=WHY),
    "run_bulk_fail": Sample(query={"state": "waiting"}, data=WHY),
    "run_bulk_requeue": Sample(query={"state": "running"}, data=WHY),
    "run_cancel": Sample(run("queued"), data=WHY),
    "run_abort": Sample(run("running"), data=WHY),
    "run_retry": Sample(run("retrying"), data=WHY),
    "run_again": Sample(run("failed"), data=WHY),
    "run_fail": Sample(run("queued"), data=WHY),
    "run_requeue": Sample(run("lost"), data=WHY),
    "run_payload": Sample(run("failed")),
    "run_log": Sample(lambda world: (world.failed, 1)),
    "run_detail": Sample(run("failed")),
    "run_change": Sample(run("failed"), answers=302),
    "workerstate_changelist": Sample(),
    "workerstate_drain": Sample(named(ALIVE), data=WHY),
    "workerstate_drain_all": Sample(data=WHY),
    "workerstate_detail": Sample(named(ALIVE)),
    "controlevent_changelist": Sample(),
    "controlevent_export": Sample(),
    "maintenancewindow_changelist": Sample(),
    "maintenancewindow_add": Sample(data={**WHY, "name": "disk", "start": "05:00", "minutes": "10"}),
    "maintenancewindow_edit": Sample(thing("window"), data={**WHY, "minutes": "30"}),
    "maintenancewindow_enable": Sample(thing("window"), data=WHY),
    "maintenancewindow_disable": Sample(thing("window"), data=WHY),
    "maintenancewindow_remove": Sample(thing("window"), data=WHY),
    "runtimesetting_changelist": Sample(),
    "runtimesetting_edit": Sample(named("lease_seconds"), data={**WHY, "value": "90s"}),
    "runtimesetting_reset": Sample(named("catch_up_max"), data=WHY),
    "apitoken_changelist": Sample(),
    "apitoken_add": Sample(data={**WHY, "name": "crawler", "scopes": ["pull", "report"]}, done=200),
    "apitoken_revoke": Sample(thing("token"), data=WHY),
}

# More places that lead on to others: each state of a run and of a schedule has its own buttons.
PLACES: list[tuple[str, Sample]] = [
    *(("run_detail", Sample(run(state))) for state in ("queued", "retrying", "running", "lost", "succeeded")),
    *(("run_changelist", Sample(query={"state": state})) for state in ("failed", "waiting", "live", "running")),
    *(("schedulestate_detail", Sample(thing(name))) for name in ("paused_schedule", "code_schedule")),
    *(("schedulestate_changelist", Sample(query=query)) for query in (OF_TYPE, {"state": "paused"})),
    ("queuestate_detail", Sample(named("stock"))),
    ("jobdefinition_detail", Sample(named("sync-stock"))),
    ("subject_detail", Sample(named("Bremen"))),
]
