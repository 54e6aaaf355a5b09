"""Jobs that were stored before their limits were set, and are claimed after."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app.lifecycle.regate import Misplaced, put_back
from jobs_app.models import Job, JobAttempt, QueueState
from jobs_app.worker.gatekeeper import Gatekeeper
from tests.by_hand import admit_all
from tests.lifecycle.rows import T, at, done, one_running, stored, take

pytestmark = pytest.mark.django_db


def limited(**rules: Any) -> Gatekeeper:
    QueueState.objects.create(name="default", **rules)
    gates = Gatekeeper(lambda queue: True)
    gates.refresh(connection)
    return gates


def test_a_backlog_that_was_stored_before_the_limit_goes_through_the_gate_unspent() -> None:
    stored(5)
    gates = limited(max_running=2)
    assert gates.keep_gates(connection, take()) == []
    assert set(Job.objects.values_list("state", "hold", "gate", "attempts", "worker_id", "token")) == {
        ("queued", "limit", 1, 0, "", None)
    }
    assert set(Job.objects.values_list("started_at", "first_started_at", "lease_expires_at")) == {(None, None, None)}
    assert not JobAttempt.objects.exists()
    admit_all(["work"])
    started = gates.keep_gates(connection, take())
    assert [job.attempts for job in started] == [1, 1]


def test_a_key_that_was_limited_later_is_waited_for() -> None:
    stored(3, key="k")
    gates = limited(max_running_per_key=1)
    assert gates.keep_gates(connection, take()) == []
    assert set(Job.objects.values_list("hold", "gate")) == {("new", 2)}
    admit_all(["work"])
    assert len(gates.keep_gates(connection, take())) == 1


def test_what_ran_before_keeps_when_it_did() -> None:
    with at(0):
        job = one_running()
        assert done(job, "queued")
        [again] = take()
        put_back(connection, [Misplaced(again.id, again.token, 1)])
    stored_job = Job.objects.get()
    assert (stored_job.attempts, stored_job.started_at, stored_job.first_started_at) == (1, T, T)


def test_what_is_not_ours_any_more_is_left() -> None:
    job = one_running()
    put_back(connection, [Misplaced(job.id, job.id, 2)])
    assert Job.objects.get().state == "running"


def test_who_passed_its_gate_is_not_sent_back() -> None:
    stored(gate=1)
    gates = limited(max_running=1)
    admit_all(["work"])
    assert len(gates.keep_gates(connection, take())) == 1


def test_a_job_whose_place_in_the_queue_is_taken_runs_rather_than_going_back() -> None:
    """Else it would have nowhere to wait, and is claimed already."""
    [first] = stored(policy="short", key="k")
    claimed = take()
    stored(policy="short", key="k")
    [plain] = stored(job_type="other")
    claimed += take(job_types=["other"])
    gates = limited(max_running=5)
    assert [job.id for job in gates.keep_gates(connection, claimed)] == [first]
    assert Job.objects.get(pk=plain).hold == "limit"
