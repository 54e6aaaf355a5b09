"""Operators override settings: within their ranges, checked together, and written down."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied
from django.db import connection

from jobs_app import job
from jobs_app.conf import get_settings
from jobs_app.errors import NotPossible, OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import settings as acts
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.models import ControlEvent, Job, RuntimeSetting
from jobs_app.testing import freeze_clock, run_jobs
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


def change(name: str, value: Any, **given: Any) -> control.Acted:
    return control.change_setting(name, value, **{"actor": "ann"} | given)


def values() -> dict[str, Any]:
    return dict(RuntimeSetting.objects.values_list("name", "value"))


@pytest.mark.spec("S1.25")
def test_a_change_is_stored_told_and_in_force() -> None:
    acted = change("LEASE_SECONDS", "1m", reason="slow network")
    assert acted.moved == ["LEASE_SECONDS"]
    row, event = RuntimeSetting.objects.get(), ControlEvent.objects.get()
    assert (row.name, row.value, row.actor) == ("lease_seconds", 60, "ann")
    assert (event.action, event.target_kind, event.target) == ("change", "setting", "LEASE_SECONDS")
    assert (event.actor, event.reason, event.moved) == ("ann", "slow network", 1)
    assert event.detail == {"before": 30, "after": 60}
    read_overrides(connection)
    assert get_settings().lease_seconds == 60


def test_a_reset_lets_code_speak_again() -> None:
    change("lease_seconds", 60)
    assert control.reset_setting("lease_seconds", actor="ann", reason="over").moved == ["LEASE_SECONDS"]
    assert values() == {}
    event = ControlEvent.objects.latest("pk")
    assert (event.action, event.detail) == ("reset", {"before": 60, "after": 30})
    assert control.reset_setting("lease_seconds", actor="ann").skipped == {"LEASE_SECONDS": "is as code says already"}


def test_the_same_value_again_changes_nothing() -> None:
    change("reconcile_applies", ["lost", "expired"])
    assert values() == {"reconcile_applies": ["expired", "lost"]}
    assert change("reconcile_applies", ["expired", "lost"]).skipped == {"RECONCILE_APPLIES": "has this value already"}
    assert [event.moved for event in ControlEvent.objects.order_by("pk")] == [1, 0]


def test_a_limit_of_code_may_be_lifted(settings: Any) -> None:
    settings.JOBS = {"MAX_TIMEOUT_SECONDS": 60}
    assert change("max_timeout_seconds", None).moved
    read_overrides(connection)
    assert get_settings().max_timeout_seconds is None
    assert ControlEvent.objects.get().detail == {"before": 60, "after": None}


def test_a_value_of_code_may_be_pinned() -> None:
    assert change("lease_seconds", 30).moved
    assert values() == {"lease_seconds": 30}


@pytest.mark.spec("S1.25")
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("lease_seconds", 1, "LEASE_SECONDS=1 cannot be used: use seconds from 5 to 3600"),
        ("max_attempts", 0, "use a whole number from 1 to 1000"),
        ("lease_second", 60, "there is no setting 'lease_second'. Did you mean 'lease_seconds'?"),
        ("eager", True, r"EAGER is set in code: settings.JOBS\['EAGER'\]"),
        ("backoff_max_seconds", 29, "must not be below BACKOFF_BASE_SECONDS"),
        ("backoff_base_seconds", 3601, "must not be below BACKOFF_BASE_SECONDS"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(name: str, value: Any, why: str) -> None:
    with pytest.raises(OptionInvalid, match=why):
        change(name, value)
    assert (values(), ControlEvent.objects.count()) == ({}, 0)


def test_a_change_is_checked_with_the_others_in_force() -> None:
    change("backoff_max_seconds", 7200)
    change("backoff_base_seconds", 5000)
    with pytest.raises(OptionInvalid, match="BACKOFF_MAX_SECONDS would not fit the others"):
        control.reset_setting("backoff_max_seconds", actor="ann")
    assert values() == {"backoff_max_seconds": 7200, "backoff_base_seconds": 5000}


def test_a_broken_row_of_another_is_in_nobodys_way_and_its_own_can_be_mended() -> None:
    RuntimeSetting.objects.create(name="max_attempts", value="many")
    RuntimeSetting.objects.create(name="dance", value=1)
    assert change("lease_seconds", 60).moved
    assert change("max_attempts", 7).moved
    assert ControlEvent.objects.latest("pk").detail == {"before": 5, "after": 7}


def test_only_who_may_changes_settings() -> None:
    user = User.objects.create_user("bob", is_staff=True)
    for act in (lambda: change("lease_seconds", 60, actor=user), lambda: control.reset_setting("lease_seconds", user)):
        with pytest.raises(PermissionDenied, match="change_setting"):
            act()
    assert (values(), ControlEvent.objects.count()) == ({}, 0)
    user.user_permissions.add(Permission.objects.get(codename="change_setting"))
    assert change("lease_seconds", 60, actor=User.objects.get(pk=user.pk)).moved
    assert RuntimeSetting.objects.get().actor == "bob"


def test_two_at_once_are_told_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "try_lock", lambda connection, name: False)
    with pytest.raises(NotPossible, match="try again"):
        change("lease_seconds", 60)
    assert values() == {}


@pytest.mark.spec("S1.25", "S1.R1")
def test_a_job_is_tried_as_often_and_as_slowly_as_the_settings_in_force_say() -> None:
    @job
    def flaky() -> None:
        raise ConnectionError("no")

    change("max_attempts", 2)
    change("backoff_base_seconds", 5)
    read_overrides(connection)
    with freeze_clock(T) as clock:
        run = flaky.enqueue()
        run_jobs(raise_errors=False)
        assert 10 <= (Job.objects.get().run_at - T).total_seconds() <= 12  # 5 * 2 ** 1, and up to a fifth
        clock.move("12s")
        run_jobs(raise_errors=False)
    assert run.refresh().status == "failed"
    assert run.attempts == 2


@pytest.mark.spec("S1.25")
def test_what_waits_keeps_its_attempts_and_takes_the_wait_in_force() -> None:
    @job
    def flaky() -> None:
        raise ConnectionError("no")

    with freeze_clock(T):
        run = flaky.enqueue()
        change("max_attempts", 1)
        change("backoff_base_seconds", 100)
        run_jobs(raise_errors=False)
        assert (run.refresh().status, Job.objects.get().max_attempts) == ("retrying", 5)
        assert 200 <= (Job.objects.get().run_at - T).total_seconds() <= 240
