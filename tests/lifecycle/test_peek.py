"""Whether anything is due in one queue, and where something became due."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app.lifecycle.peek import is_due, newly_due
from jobs_app.models import Job
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T, at, stored, take

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("hold", "expected"), [("", True), ("new", True), ("limit", True), ("key", False)])
def test_what_waits_openly_or_before_a_gate_may_be_due(hold: str, expected: bool) -> None:
    with at(0):
        stored(queue="mail")
        Job.objects.update(hold=hold)
        assert is_due(connection, "mail") is expected
        assert not is_due(connection, "calls")


@pytest.mark.parametrize("hold", ["", "new"])
def test_what_is_due_later_or_runs_is_not(hold: str) -> None:
    with at(0):
        stored(queue="mail", delay=60)
        stored(queue="calls")
        Job.objects.update(hold=hold)
        assert not is_due(connection, "mail")
    with at(60):
        assert is_due(connection, "mail")
        Job.objects.update(hold="")
        take()
        assert not is_due(connection, "calls")


@pytest.mark.parametrize("hold", ["", "new"])
def test_it_may_be_asked_what_is_due_for_some_time(hold: str) -> None:
    with at(0):
        stored(queue="mail")
        Job.objects.update(hold=hold)
    with at(14.9):
        assert not is_due(connection, "mail", for_seconds=15)
    with at(15):
        assert is_due(connection, "mail", for_seconds=15)


def test_a_backlog_elsewhere_is_not_read(on_postgres: None) -> None:
    stored(2000)
    plans = plans_of(lambda: is_due(connection, "mail"))
    assert plans.rows == 0
    assert not plans.disorder()


def test_what_became_due_since_is_told_by_its_queue() -> None:
    with at(0):
        stored(queue="old")
        stored(queue="later", delay=3600)
    with at(100):
        stored(queue="new")
        stored(queue="urgent", priority=5)
        lanes = [("old", 0), ("later", 0), ("new", 0), ("urgent", 5), ("urgent", 0), ("gone", 0)]
        assert newly_due(connection, lanes, T + timedelta(seconds=50)) == {"new", "urgent"}
        assert newly_due(connection, lanes, T - timedelta(seconds=50)) == {"old", "new", "urgent"}
        assert newly_due(connection, [], T) == set()
    with at(3600):
        assert newly_due(connection, lanes, T + timedelta(seconds=3500)) == {"later"}
