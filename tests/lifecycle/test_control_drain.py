"""Workers are asked to drain: one, some or all of them, and never a scheduler."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied
from django.db import connection

from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce, is_asked_to_drain
from jobs_app.models import ControlEvent, WorkerKind, WorkerState
from tests.lifecycle.rows import at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def three_workers_and_a_scheduler() -> None:
    for name in ("a", "b", "c"):
        announce(connection, Presence(id=name))
    announce(connection, Presence(id="clock", kind=WorkerKind.SCHEDULER))


def asked() -> list[str]:
    return sorted(WorkerState.objects.filter(drain_requested=True).values_list("pk", flat=True))


def test_one_worker_is_asked_and_the_event_names_it() -> None:
    acted = control.drain("b", "ann", "deploy")
    assert (acted.moved, acted.skipped, asked()) == (["b"], {}, ["b"])
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.reason, event.moved) == ("ann", "drain", "deploy", 1)
    assert (event.target_kind, event.target, event.detail) == ("worker", "b", {})
    assert is_asked_to_drain(connection, "b")
    assert not is_asked_to_drain(connection, "a")


def test_some_are_asked_and_what_cannot_be_is_told() -> None:
    control.drain(WorkerState.objects.get(pk="a"), "ann")
    acted = control.drain(["a", "b", "clock", "nobody", "b"], "ann")
    assert acted.moved == ["b"]
    assert acted.skipped == {
        "a": "was asked to drain before",
        "clock": "is a scheduler: only workers are drained",
        "nobody": "is not there any more",
    }
    event = ControlEvent.objects.order_by("-pk")[0]
    assert (event.target_kind, event.target, event.moved, event.skipped) == ("workers", "4 workers", 1, 3)
    assert event.detail["moved"] == ["b"]
    assert asked() == ["a", "b"]


def test_all_workers_are_asked_but_no_scheduler_and_none_that_comes_later() -> None:
    acted = control.drain("all", "ann")
    assert (acted.moved, acted.skipped, asked()) == (["a", "b", "c"], {}, ["a", "b", "c"])
    assert ControlEvent.objects.get().target == "all"
    announce(connection, Presence(id="new"))
    assert "new" not in asked()


def test_a_beat_and_a_second_announcement_leave_the_wish_as_it_is() -> None:
    control.drain("a", "ann")
    with at(5):
        announce(connection, Presence(id="a"))
    assert asked() == ["a"]


def test_only_who_has_the_permission_drains() -> None:
    user = User.objects.create_user("bob")
    with pytest.raises(PermissionDenied, match=r"bob has no permission jobs_app\.drain_worker"):
        control.drain("a", user)
    assert asked() == []
    user.user_permissions.add(Permission.objects.get(codename="drain_worker"))
    assert control.drain("a", User.objects.get()).moved == ["a"]
