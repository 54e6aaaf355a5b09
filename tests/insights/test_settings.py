"""The settings in force, and who changed what of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.settings import KnobState, knob_states, set_in_code
from jobs_app.knobs import KNOBS
from jobs_app.lifecycle import control
from jobs_app.models import RuntimeSetting

pytestmark = pytest.mark.django_db


def state(name: str) -> KnobState:
    return next(each for each in knob_states(connection) if each.knob.name == name)


@pytest.mark.spec("S1.25")
def test_a_knob_tells_what_is_in_force_what_code_says_who_changed_it_and_why(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 90}
    plain = state("lease_seconds")
    assert (plain.value, plain.in_code, plain.is_overridden, plain.changed_at) == (90, 90, False, None)
    control.change_setting("lease_seconds", 60, actor="ann", reason="slow network")
    control.change_setting("lease_seconds", 60, actor="bob", reason="changes nothing")
    found = state("lease_seconds")
    assert (found.value, found.in_code, found.is_overridden, found.problem) == (60, 90, True, "")
    assert (found.actor, found.reason) == ("ann", "slow network")
    assert found.changed_at is not None
    control.reset_setting("lease_seconds", actor="bob", reason="over")
    found = state("lease_seconds")
    assert (found.value, found.is_overridden, found.event and found.event.actor) == (90, False, "bob")


def test_one_that_cannot_be_in_force_says_why() -> None:
    RuntimeSetting.objects.create(name="max_attempts", value="many")
    found = state("max_attempts")
    assert (found.value, found.is_overridden) == (5, True)
    assert found.problem == "'many' cannot be used: use a whole number from 1 to 1000"


def test_so_many_queries_whatever_was_changed(django_assert_num_queries: Callable[[int], Any]) -> None:
    for _ in range(2):
        for name in ("lease_seconds", "max_attempts", "recover_seconds"):
            control.change_setting(name, 7, actor="ann")
            control.change_setting(name, 8, actor="ann")
    with django_assert_num_queries(3):
        knob_states(connection)


def test_what_only_a_deploy_changes_is_listed_besides(settings: Any) -> None:
    settings.JOBS = {"WORKER_CONCURRENCY": 3}
    listed = dict(set_in_code())
    assert listed["WORKER_CONCURRENCY"] == 3
    assert {"DATABASE", "EAGER", "QUEUES", "SCHEDULER_ENABLED"} <= set(listed)
    assert not {knob.setting for knob in KNOBS.values()} & set(listed)
