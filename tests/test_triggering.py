"""Enqueueing by name: who may, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied

from jobs_app import job, trigger
from jobs_app.errors import PayloadInvalid
from jobs_app.models import ControlEvent, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def pay() -> Any:
    @job(permission="auth.add_group", exclusive=True)
    def pay(order: int) -> None: ...

    return pay


def user_with(*codenames: str, **fields: Any) -> User:
    user = User.objects.create_user(username="ann", **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=user.pk)


@pytest.mark.parametrize("codenames", [(), ("trigger_job",), ("add_group",)])
def test_a_user_needs_both_permissions(pay: Any, codenames: tuple[str, ...]) -> None:
    with pytest.raises(PermissionDenied):
        trigger("pay", {"order": 1}, actor=user_with(*codenames))
    assert not Job.objects.exists()
    assert not ControlEvent.objects.exists()


@pytest.mark.usefixtures("pay")
def test_who_is_not_active_may_nothing() -> None:
    with pytest.raises(PermissionDenied):
        trigger("pay", {"order": 1}, actor=user_with("trigger_job", "add_group", is_active=False))


def test_a_trigger_by_a_user_is_told_with_its_reason(pay: Any) -> None:
    run = trigger("pay", {"order": 1}, actor=user_with("trigger_job", "add_group"), reason="customer called")
    assert Job.objects.get().actor == "ann"
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason, event.target) == ("trigger", "ann", "customer called", str(run.id))
    assert (event.moved, event.skipped, event.detail) == (1, 0, {"job_type": pay.name})


@pytest.mark.usefixtures("pay")
def test_a_trigger_that_finds_a_run_moves_nothing() -> None:
    first, second = (trigger("pay", {"order": 1}, actor="cli:ops") for _ in range(2))
    assert second.id == first.id
    assert list(ControlEvent.objects.order_by("pk").values_list("moved", "skipped")) == [(1, 0), (0, 1)]


@pytest.mark.usefixtures("pay")
def test_code_without_a_name_leaves_no_event() -> None:
    trigger("pay", {"order": 1})
    assert Job.objects.count() == 1
    assert not ControlEvent.objects.exists()


@pytest.mark.usefixtures("pay")
def test_a_reason_without_a_name_is_told_all_the_same() -> None:
    run = trigger("pay", {"order": 1}, reason="nightly repair")
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason, event.target) == ("trigger", "", "nightly repair", str(run.id))


@pytest.mark.usefixtures("pay")
def test_a_refused_payload_leaves_nothing() -> None:
    with pytest.raises(PayloadInvalid):
        trigger("pay", {"order": "one"}, actor="ops")
    assert not ControlEvent.objects.exists()
