"""One filter of schedules: for lists, for counts, and for acts upon all that it finds."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ControlEvent, ScheduleState
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def world() -> None:
    job(name="rates")(lambda: None)
    rows: list[dict[str, Any]] = [
        {"job_type": "rates", "subject": "", "origin": "code"},
        {"job_type": "rates", "subject": "Acme", "origin": "source", "paused": True},
        {"job_type": "rates", "subject": "100%", "origin": "source"},
        {"job_type": "mail", "subject": "acme", "name": "nightly", "origin": "admin"},
    ]
    for row in rows:
        ScheduleState.objects.create(interval_seconds=60, next_run_at=T, **row)


def found(**wanted: Any) -> set[str]:
    return {str(row) for row in ScheduleFilter(**wanted).rows(connection)}


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ({}, {"rates", "rates Acme", "rates 100%", "mail acme nightly"}),
        ({"job_type": "rates", "state": "active"}, {"rates", "rates 100%"}),
        ({"state": "paused"}, {"rates Acme"}),
        ({"origin": "source"}, {"rates Acme", "rates 100%"}),
        ({"subject": ""}, {"rates"}),
        ({"search": "ACME"}, {"rates Acme", "mail acme nightly"}),
        ({"search": "0%"}, {"rates 100%"}),
        ({"search": "%"}, {"rates 100%"}),
        ({"search": "night", "origin": "code"}, set()),
    ],
)
def test_all_that_is_said_must_be_true(wanted: dict[str, Any], meant: set[str]) -> None:
    assert found(**wanted) == meant


@pytest.mark.parametrize("wanted", [{"state": "pausd"}, {"origin": "cod"}])
def test_what_cannot_be_meant_is_refused_and_never_means_all(wanted: dict[str, Any]) -> None:
    with pytest.raises(OptionInvalid, match="Did you mean"):
        ScheduleFilter(**wanted)


def test_an_act_upon_a_filter_moves_what_it_found_when_it_began_and_tells_the_filter() -> None:
    acted = control.pause_schedule(control.schedules_of(job_type="rates", state="active"), "ann", "audit")
    assert len(acted.moved) == 2
    assert found(state="active") == {"mail acme nightly"}
    event = ControlEvent.objects.get()
    assert (event.target_kind, event.target, event.moved) == ("schedules", "job_type 'rates', state 'active'", 2)
