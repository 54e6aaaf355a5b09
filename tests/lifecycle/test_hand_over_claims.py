"""Whoever ends a job may claim the next one of its key in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle.claim import Claim
from jobs_app.lifecycle.hand_over import Straight, hand_over
from jobs_app.lifecycle.keys import Key
from jobs_app.models import Job, JobAttempt, JobRun
from tests.by_hand import admit_all
from tests.lifecycle.rows import T, at, stored, take
from tests.lifecycle.sessions import sessions
from tests.lifecycle.test_hand_over import KEYED, TYPES, end, hold_of, owners, running, waiting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]


def claiming(limit: int = 100, *, starting: Sequence[str] = ("default work",), **changes: Any) -> Straight:
    """As of a worker that starts the next ones itself."""
    asked = {"worker_id": "worker-2", "token": uuid4(), "job_types": [], "limit": limit, "lease": 30.0, "leases": {}}
    return Straight(["default work", "default other"], starting=starting, claim=Claim(**(asked | changes)))


def test_the_next_of_a_freed_key_starts_with_the_worker_that_freed_it() -> None:
    with at(0):
        job = running()
        second, third = waiting(2)
    straight = claiming(leases={"work": 600.0})
    with at(10):
        end(job, straight=straight)
    stored_job = Job.objects.get(pk=second)
    [claimed] = straight.claimed
    assert (claimed.id, claimed.token, claimed.attempts, claimed.key) == (second, stored_job.token, 1, "k")
    assert (stored_job.state, stored_job.hold, stored_job.worker_id) == ("running", "", "worker-2")
    assert stored_job.started_at == stored_job.first_started_at == stored_job.run_at == T + timedelta(seconds=10)
    assert stored_job.lease_expires_at == T + timedelta(seconds=610)
    assert (straight.opened, straight.woken) == (set(), set())
    assert hold_of(third) == "key"
    with at(20):
        end(claimed, straight=straight)
    assert JobAttempt.objects.get(job_id=second).worker_id == "worker-2"
    assert [job.id for job in straight.claimed] == [second, third]


@pytest.mark.parametrize(
    ("changes", "straight"),
    [({"max_attempts": 1}, claiming()), ({}, claiming(starting=["default other"])), ({}, claiming(limit=0))],
    ids=["a single attempt", "does not start here", "no room"],
)
def test_who_may_not_start_here_at_once_is_open_to_claims(changes: dict[str, Any], straight: Straight) -> None:
    [run_id] = waiting(priority=3, **changes)
    hand_over(connection, [Key("default", "k")], straight)
    opened = Job.objects.get(pk=run_id)
    assert (opened.state, opened.hold, opened.attempts, opened.lease_expires_at) == ("queued", "", 0, None)
    assert (straight.claimed, straight.opened, straight.woken) == ([], {("default", 3)}, set())


def test_where_not_all_fit_claims_choose_the_most_urgent() -> None:
    for key in "kl":
        waiting(key=key)
    straight = claiming(limit=1)
    hand_over(connection, [Key("default", key) for key in "kl"], straight)
    assert (straight.claimed, set(Job.objects.values_list("state", "hold"))) == ([], {("queued", "")})


def test_the_most_urgent_of_several_keys_starts_first() -> None:
    [low], [high] = waiting(key="k"), waiting(key="l", priority=9)
    straight = claiming()
    hand_over(connection, [Key("default", key) for key in "kl"], straight)
    assert [job.id for job in straight.claimed] == [high, low]


@pytest.mark.parametrize("changes", [{"subject": "shop-7"}, {"delay": 60}, {"policy": "standard"}], ids=str)
def test_who_needs_more_than_the_key_is_not_claimed(changes: dict[str, Any]) -> None:
    waiting(**changes)
    straight = claiming()
    straight.paused_subjects = ["shop-7"]
    hand_over(connection, [Key("default", "k")], straight)
    assert (straight.claimed, straight.opened, straight.woken) == ([], set(), {"default"})
    assert not Job.objects.filter(state="running").exists()


def test_where_two_types_wait_for_a_key_neither_is_claimed() -> None:
    [mine], [theirs] = waiting(), waiting(job_type="other")
    straight = claiming(starting=["default work", "default other"])
    hand_over(connection, [Key("default", "k")], straight)
    assert (straight.claimed, straight.woken) == ([], {"default"})
    assert [hold_of(mine), hold_of(theirs)] == ["new", "new"]


@pytest.mark.django_db(transaction=True)
def test_what_was_claimed_by_a_transaction_that_failed_is_not() -> None:
    beside = running(policy="standard")
    holder = running()
    [second], [of_another_key] = waiting(), waiting(key="l")
    other_key = running(key="m")
    Job.objects.filter(pk=of_another_key).update(key="m")
    straight = claiming()
    end(beside, other_key, straight=straight)
    assert Job.objects.get(pk=holder.id).state == "running"
    assert [hold_of(second), hold_of(of_another_key)] == ["new", "new"]
    assert (straight.claimed, straight.woken) == ([], {"default"})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_admission_looks_while_a_key_is_handed_over_and_claimed(ends: str) -> None:
    job = running()
    [second] = waiting()
    [late] = stored(**KEYED, key="k", priority=9)
    with sessions(2) as (ender, looker):
        ender.begin()
        ender.do(lambda: end(job, straight=claiming()))
        looker.do(admit_all, TYPES)  # it never waits
        assert hold_of(late) == "new"
        getattr(ender, ends)()
    admit_all(TYPES)
    assert hold_of(late) == "key"
    assert Job.objects.get(state="running").pk == (second if ends == "commit" else job.id)


@pytest.mark.django_db(transaction=True)
def test_at_most_one_job_of_a_key_runs_while_several_sessions_hand_over_claim_and_look() -> None:
    ids = [stored(**KEYED, key=key)[0] for _ in range(15) for key in "klmn"]
    admit_all(TYPES)

    def work() -> int:
        """Until everything has ended; how many at most had one key."""
        most, mine = 0, []
        while Job.objects.exists():
            admit_all(TYPES)
            mine += take(1, job_types=TYPES)
            most = max([most, *owners().values()])
            straight = claiming()
            end(*mine, straight=straight)
            mine = straight.claimed
        return most

    with sessions(3) as workers:
        assert [future.result(60) for future in [worker.start(work) for worker in workers]] == [1] * 3
    assert set(JobRun.objects.values_list("id", flat=True)) == set(ids)
