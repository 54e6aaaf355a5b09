"""Who may act: each verb asks for a permission of its own before it changes anything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.core.exceptions import PermissionDenied
from django.utils.functional import SimpleLazyObject

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken, ControlEvent, Job, MaintenanceWindow, Pause, QueueState, ScheduleState
from tests.lifecycle.history import finished
from tests.lifecycle.rows import T, done, one_running, stored, tables

pytestmark = pytest.mark.django_db

Verb = Callable[[Any], Any]


def waiting() -> Any:
    return Job.objects.filter(state="queued").values_list("pk", flat=True).first()


def running() -> Any:
    return Job.objects.filter(state="running").values_list("pk", flat=True).first()


def schedule(*, paused: bool) -> int:
    return ScheduleState.objects.values_list("pk", flat=True).get(paused=paused, name="")


OTHERS, CHANGED = ("work", "", "by-hand"), ("work", "b", "")  # schedules

VERBS: dict[str, tuple[str, Verb]] = {
    "cancel": ("cancel_run", lambda actor: control.cancel(waiting(), actor)),
    "abort": ("abort_run", lambda actor: control.abort(running(), actor)),
    "retry": ("retry_run", lambda actor: control.retry(waiting(), actor)),
    "fail": ("fail_run", lambda actor: control.fail(waiting(), actor)),
    "requeue": ("reconcile_runs", lambda actor: control.requeue(running(), actor)),
    "reconcile": ("reconcile_runs", lambda actor: control.reconcile(actor, apply=["lost"])),
    "pause": ("pause_queue", lambda actor: control.pause("queue", "mail", actor)),
    "resume": ("pause_queue", lambda actor: control.resume("queue", "paused", actor)),
    "pause schedule": ("pause_schedule", lambda actor: control.pause_schedule(schedule(paused=False), actor)),
    "resume schedule": ("pause_schedule", lambda actor: control.resume_schedule(schedule(paused=True), actor)),
    "trigger schedule": ("trigger_job", lambda actor: control.trigger_schedule(schedule(paused=False), actor)),
    "add schedule": ("add_schedulestate", lambda actor: control.add_schedule("work", actor, every=60)),
    "change schedule": ("change_schedulestate", lambda actor: control.change_schedule(OTHERS, actor, every=90)),
    "restore schedule": ("change_schedulestate", lambda actor: control.restore_schedule(CHANGED, actor)),
    "delete schedule": ("delete_schedulestate", lambda actor: control.delete_schedule(OTHERS, actor)),
    "backfill": ("backfill_schedule", lambda actor: control.backfill(OTHERS, actor, start=T, end=T)),
    "limit": ("scale_queue", lambda actor: control.limit_queue("mail", actor, concurrency=2)),
    "add window": (
        "add_maintenancewindow",
        lambda actor: control.add_window("backup", actor, start="07:00", minutes=20),
    ),
    "change window": ("change_maintenancewindow", lambda actor: control.change_window("nightly", actor, minutes=5)),
    "remove window": ("delete_maintenancewindow", lambda actor: control.remove_window("nightly", actor)),
    "create token": ("manage_token", lambda actor: control.create_token("bot", actor, scopes=["pull"])),
    "revoke token": ("manage_token", lambda actor: control.revoke_token("abcd1234", actor)),
    "prune history": ("prune_history", control.prune_history),
    "unlimit": ("scale_queue", lambda actor: control.unlimit_queue("limited", actor)),
}
EACH = pytest.mark.parametrize("verb", VERBS)


@pytest.fixture(autouse=True)
def something_to_do() -> None:
    @job(name="work")
    def work() -> None: ...

    one_running()
    stored(1, delay=3600)
    finished(days=999, attempts=0)
    Pause.objects.create(scope="queue", name="paused")
    QueueState.objects.create(name="limited", max_running=1)
    MaintenanceWindow.objects.create(name="nightly", start="03:00", minutes=20, enabled=False)
    ApiToken.objects.create(name="old", prefix="abcd1234", scopes=["pull"])
    columns = {"job_type": "work", "interval_seconds": 60, "next_run_at": T + timedelta(days=999)}
    ScheduleState.objects.create(**columns, subject="a", paused=True)
    ScheduleState.objects.create(**columns, subject="b", overrides={"interval_seconds": 60})
    ScheduleState.objects.create(**columns, name="by-hand", origin="admin")


def everything() -> Any:
    others = (Pause, QueueState, MaintenanceWindow, ScheduleState, ApiToken, ControlEvent)
    return tables(), [list(model.objects.order_by("pk").values()) for model in others]


def user_with(*codenames: str, **changes: Any) -> User:
    user = User.objects.create_user("ann", **changes)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs_app", codename__in=codenames))
    assert user.user_permissions.count() == len(codenames)
    return User.objects.get()


@EACH
def test_a_user_with_the_permission_may(verb: str) -> None:
    permission, act = VERBS[verb]
    assert act(user_with(permission))
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.moved) == ("ann", verb.partition(" ")[0], 1)


@EACH
def test_a_user_with_every_other_permission_may_not(verb: str) -> None:
    permission, act = VERBS[verb]
    others = {name for name, _ in VERBS.values()} - {permission}
    user, before = user_with(*others), everything()
    with pytest.raises(PermissionDenied, match=f"ann has no permission jobs_app.{permission}"):
        act(user)
    assert everything() == before


@EACH
def test_a_superuser_may_and_an_inactive_user_never(verb: str) -> None:
    permission, act = VERBS[verb]
    before = everything()
    with pytest.raises(PermissionDenied):
        act(user_with(permission, is_active=False))
    User.objects.update(is_superuser=True)
    with pytest.raises(PermissionDenied):
        act(User.objects.get())
    assert everything() == before
    User.objects.update(is_active=True)
    assert act(User.objects.get())


@EACH
def test_an_anonymous_user_may_not_and_code_may(verb: str) -> None:
    _, act = VERBS[verb]
    with pytest.raises(PermissionDenied, match="an anonymous user has no permission"):
        act(AnonymousUser())
    assert act("nightly clean-up")
    assert ControlEvent.objects.get().actor == "nightly clean-up"


def test_a_permission_may_come_from_a_group_and_the_user_from_a_request() -> None:
    user = User.objects.create_user("ann")
    group = Group.objects.create(name="operators")
    group.permissions.add(Permission.objects.get(codename="cancel_run"))
    user.groups.add(group)
    lazy = SimpleLazyObject(User.objects.get)
    assert control.cancel(waiting(), lazy)


def test_nothing_is_told_to_who_may_not() -> None:
    """Also bad input and unknown runs are no one else's business."""
    job = one_running(job_type="other")
    done(job)
    with pytest.raises(PermissionDenied):
        control.cancel("no id", user_with())
    with pytest.raises(PermissionDenied):
        control.pause("nonsense", "x", User.objects.get())
