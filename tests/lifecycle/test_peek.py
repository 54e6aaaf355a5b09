"""Whether anything is due in one queue."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.peek import is_due
from jobs_app.models import Job
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import at, stored, take

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
