"""What was done about stale runs without a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import stale
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.recover import recover
from jobs_app.models import ControlEvent
from tests.insights.planning import ran
from tests.lifecycle.rows import T, at, one_running, stored, take

pytestmark = pytest.mark.django_db


def now(seconds: float = 0) -> Any:
    return T + timedelta(seconds=seconds)


def test_lost_attempts_of_the_last_day_are_told_newest_first() -> None:
    with at(0):
        first = one_running()
    with at(40):
        recover(connection)
        take(1, worker_id="worker-2")
        second = one_running()
    with at(100):
        recover(connection)
        found = stale.lost_attempts(connection, now(100))
    assert [(each.run_id, each.number, each.at) for each in found[-1:]] == [(first.id, 1, now(40))]
    assert {(each.run_id, each.number) for each in found} == {(first.id, 1), (first.id, 2), (second.id, 1)}
    assert found[-1].worker_id == "worker-1"
    assert "Worker crashed or timed out" in found[-1].message
    assert [each.at for each in stale.lost_attempts(connection, now(100), limit=1)] == [now(100)]
    assert stale.lost_attempts(connection, now(100), among=0) == []
    assert stale.lost_attempts(connection, now(2 * 86400)) == []


def test_only_what_the_chore_did_is_done_by_itself() -> None:
    for actor, seconds in (("jobs.reconcile", 0), ("ann", 5), ("jobs.reconcile", 10), ("jobs.reconcile", -90_000)):
        event = ControlEvent.objects.create(actor=actor, action="reconcile", target=str(seconds))
        ControlEvent.objects.filter(pk=event.pk).update(at=now(seconds))
    assert [event.target for event in stale.done_by_itself(connection, now(20))] == ["10", "0"]


def test_the_last_check_is_when_the_chore_last_ended() -> None:
    assert stale.last_check(connection) is None
    ran("jobs.reconcile", [1, 1, 1], queue="jobs.system")
    assert stale.last_check(connection) == T


def test_workers_have_the_names_that_people_know() -> None:
    announce(connection, Presence(id="a", name="mailer")), announce(connection, Presence(id="b", host="h", pid=7))
    assert stale.names_of(connection, ["a", "b", "gone"]) == {"a": "mailer", "b": "h 7"}


@pytest.mark.spec("S1.R8")
def test_no_more_are_listed_than_asked_for_and_only_of_the_kinds_asked_for(settings: Any) -> None:
    settings.JOBS = {"AUTO_RECOVER": False}
    with at(0):
        stored(5)
        take(5)
    with at(60):
        assert len(stale.stale_runs(connection, limit=3)) == 3
        assert stale.stale_runs(connection, kinds=["stuck"]) == []
        assert len(control.reconcile("ann", apply=["expired"]).moved) == 5
        assert stale.stale_runs(connection) == []
