"""Schedules that make no jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs_app.insights.doctor.finding import Examination
from jobs_app.insights.doctor.schedules import (
    schedules_disabled,
    schedules_failing,
    schedules_overdue,
    schedules_retired,
)
from jobs_app.models import ScheduleState
from tests.insights.doctor.looking import look
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db
LOOKS = (schedules_overdue, schedules_disabled, schedules_failing, schedules_retired)


def plan(name: str, **columns: Any) -> None:
    coming = {"interval_seconds": 60, "next_run_at": T + timedelta(days=1)}
    ScheduleState.objects.create(job_type="report", name=name, **(coming | columns))


@pytest.mark.parametrize(
    ("one", "columns", "level"),
    [
        (schedules_overdue, {"next_run_at": T - timedelta(days=1)}, "problem"),
        (schedules_disabled, {"disabled": True}, "problem"),
        (schedules_failing, {"failures": 2, "last_error": "no such subject"}, "warning"),
        (schedules_retired, {"retired": True}, "note"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_trouble_is_found_by_its_own_examination(one: Examination, columns: dict[str, Any], level: str) -> None:
    plan("fine")
    with at(0):
        assert [look(each).level for each in LOOKS] == ["ok"] * 4
        plan("nightly", **columns)
        assert {each.name: look(each).level for each in LOOKS if look(each).level != "ok"} == {one.name: level}
        assert "report nightly" in look(one).sentence


def test_the_first_error_is_told() -> None:
    plan("nightly", failures=1, last_error="no such subject")
    assert look(schedules_failing).sentence.endswith("The first says: no such subject")
