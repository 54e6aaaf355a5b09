"""Claiming: what can start now, of what is served, most urgent first, and recovery on the way."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from jobs_app import Backoff, current_job, job
from jobs_app.lifecycle.claim import Claim
from jobs_app.lifecycle.lanes import AHEAD
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.worker import claimer as claimer_module
from jobs_app.worker import finisher as finisher_module
from jobs_app.worker.loop import Worker, WorkerOptions
from jobs_app.worker.portions import Portion
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("S1.3", "S1.9", "S2.18", "S2.32", "S1.R7")
def test_a_silent_workers_job_is_recovered_however_long_the_poll() -> None:
    @job(backoff=Backoff(base=0, factor=1, jitter="none"))
    def work() -> str:
        return current_job().cursor

    run = work.enqueue()
    token = "00000000-0000-0000-0000-000000000001"
    with working(poll=60, recover_every=0.3):
        finished(work.enqueue())
        Job.objects.create(
            id="00000000-0000-0000-0000-0000000000aa",
            state="running",
            job_type="work",
            queue="default",
            run_at=run.run_at,
            queued_at=run.queued_at,
            max_attempts=5,
            attempts=1,
            payload={},
            cursor="page 7",
            worker_id="host-1-gone",
            token=token,
            started_at=run.queued_at,
            lease_expires_at=run.queued_at,
        )
        until(lambda: JobRun.objects.filter(pk="00000000-0000-0000-0000-0000000000aa").exists(), seconds=10)
    stored = JobRun.objects.get(pk="00000000-0000-0000-0000-0000000000aa")
    assert (stored.state, stored.attempts, stored.result) == ("succeeded", 2, "page 7")
    lost = JobAttempt.objects.get(job_id=stored.id, number=1)
    assert (lost.outcome, lost.worker_id, lost.started_at) == ("lost", "host-1-gone", run.queued_at)
    assert lost.message == "Worker crashed or timed out (stalled job recovery, was on host-1-gone)"


def test_what_recovery_gives_back_is_looked_for_at_once() -> None:
    """Also in a lane that was empty when lanes were looked for, a moment ago."""

    @job
    def work() -> None: ...

    claimer = Worker(WorkerOptions(poll=60)).claimer
    claimer._maintain()
    assert claimer._lanes.known == {}
    run = work.options(queue="elsewhere").enqueue()
    Job.objects.filter(pk=run.id).update(
        state="running", attempts=1, token=uuid4(), lease_expires_at=run.queued_at, started_at=run.queued_at
    )
    claimer._recover_due = claimer._lanes_cost = 0
    claimer._maintain()
    assert list(claimer._lanes.known) == [("elsewhere", 0)]


def test_only_a_look_at_every_type_can_tell_that_nothing_is_due() -> None:
    claimer = Worker(WorkerOptions()).claimer
    claimer._take(Portion(AHEAD, ["work"]), 5, may_walk=True)
    assert claimer.empty_at == float("-inf")
    claimer._lanes.walked_at = float("-inf")
    claimer._find_lanes()
    claimer._take_each(["work"], 5)
    assert claimer.empty_at == claimer._lanes_at


def test_what_admission_was_not_done_with_may_be_due() -> None:
    claimer = Worker(WorkerOptions()).claimer
    claimer._find_lanes()
    claimer._may_open_more = True
    claimer._take_each(["work"], 5)
    assert claimer.empty_at == float("-inf")


def test_a_recovery_that_takes_long_is_made_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old open transaction keeps the leases of all that ended since: claims must not wait for them often."""
    monkeypatch.setattr(claimer_module, "recover_silent", lambda connection: time.sleep(0.05))
    claimer = Worker(WorkerOptions(recover_every=0.01)).claimer
    claimer._maintain()
    assert claimer._recover_due - time.monotonic() > 0.5


def test_only_served_queues_are_claimed() -> None:
    @job
    def work() -> None: ...

    runs = {queue: work.options(queue=queue).enqueue() for queue in ("mail", "mail.bulk", "sync")}
    with working(queues=("mail*",), excluded=("*.bulk",)):
        assert finished(runs["mail"]) == ["succeeded"]
    assert [state(runs["mail.bulk"]), state(runs["sync"])] == ["queued"] * 2


def test_the_most_urgent_goes_first() -> None:
    order: list[int] = []

    @job
    def work(n: int) -> None:
        order.append(n)

    runs = [work.options(priority=n).enqueue(n=n) for n in (0, 50, -50, 100, 1)]
    with working(concurrency=1):
        finished(*runs)
    assert order == [100, 50, 1, 0, -50]


def test_a_type_whose_switch_is_broken_does_not_stop_the_claims() -> None:
    @job(enabled=lambda: bool(1 / 0))
    def broken() -> None: ...

    @job
    def sound() -> None: ...

    with working():
        assert finished(sound.enqueue()) == ["succeeded"]


def test_no_more_is_claimed_than_the_worker_may_do_before_it_ends() -> None:
    @job
    def work() -> None: ...

    work.enqueue_many([{}] * 20)
    with working(max_jobs=7) as worker:
        until(worker.is_spent, every=0.01)
    assert (JobRun.objects.count(), Job.objects.filter(attempts=0).count()) == (7, 13)


def test_claims_stop_while_too_many_reports_wait_to_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    finish = finisher_module.finish

    def slow(connection: Any, reports: Any, straight: Any) -> Any:
        gate.wait(20)
        return finish(connection, reports, straight)

    @job
    def work() -> None: ...

    monkeypatch.setattr(finisher_module, "finish", slow)
    monkeypatch.setattr("jobs_app.worker.loop.MOST_UNSTORED", 5)
    monkeypatch.setattr("jobs_app.worker.pace.SEEN_ENOUGH", 1000)  # nothing is claimed ahead
    with working(concurrency=2) as worker:
        runs = work.enqueue_many([{}] * 60)
        until(lambda: worker.finisher.pending > 5, every=0.01)
        until(lambda: worker._room().now == 0, every=0.01)
        assert Job.objects.filter(state="running").count() <= 5 + 2 + 2
        gate.set()
        assert set(finished(*runs)) == {"succeeded"}
    assert {tuple(outcomes(run)) for run in runs} == {("success",)}


def test_an_urgent_job_of_another_kind_does_not_wait_for_the_end_of_many_short_ones() -> None:
    """Of which there are always more, until it ran or tens of thousands did."""
    order: list[str] = []
    behind, most = 6_000, 40_000

    @job(priority=50, max_attempts=1)
    def urgent() -> None:
        order.append("urgent")

    @job
    def short(n: int) -> None:
        order.append("short")
        if n == 500:
            urgent.enqueue()
        if n % 500 == 0 and n < most and "urgent" not in order:
            short.enqueue_many({"n": n + behind + more} for more in range(500))

    short.enqueue_many({"n": n} for n in range(behind))
    with working(concurrency=2):
        until(lambda: not Job.objects.exists(), seconds=120, every=0.05)
    assert order.index("urgent") < most - behind


def test_where_work_begins_the_first_claims_ahead_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    claim = claimer_module.claim

    def noted(connection: Any, wanted: Claim, starts: Any) -> Any:
        jobs = claim(connection, wanted, starts)
        if wanted.retryable_only and len(jobs) == wanted.limit:
            asked.append(wanted.limit)
        return jobs

    @job
    def work() -> None: ...

    monkeypatch.setattr(claimer_module, "claim", noted)
    monkeypatch.setattr(claimer_module, "FIRST_REACH", 3)
    monkeypatch.setattr("jobs_app.worker.pace.LEAST_AHEAD", 200)
    runs = work.enqueue_many([{}] * 300)
    with working(concurrency=2):
        assert set(finished(*runs)) == {"succeeded"}
    assert asked[0] == 3
    assert all(later <= earlier * 4 for earlier, later in pairwise(asked))
    assert max(asked) > 12


@pytest.mark.spec("S1.24", "S4.6", "S4.12")
def test_what_is_due_later_is_not_claimed() -> None:
    @job
    def work() -> None: ...

    later = work.options(delay=3600).enqueue()
    with working():
        finished(work.enqueue())
        assert (state(later), later.refresh().attempts) == ("queued", 0)
        Job.objects.filter(pk=later.id).update(run_at=later.queued_at)
        assert finished(later) == ["succeeded"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """Every claim that looked into a lane, as it was asked for."""
    noted: list[Claim] = []
    claim = claimer_module.claim

    def note(connection: Any, asking: Claim, starts: Any) -> Any:
        noted.extend([asking] if starts else [])
        return claim(connection, asking, starts)

    monkeypatch.setattr(claimer_module, "claim", note)
    return noted


def test_jobs_with_a_single_attempt_are_not_claimed_ahead(asked: list[Claim]) -> None:
    """Claimed ahead they would be spent by a crash of their worker before they began."""

    @job
    def short() -> None: ...

    with working(concurrency=2) as worker:
        finished(*short.enqueue_many([{}] * 10))
        assert worker.pace.is_short("short")
        finished(*short.enqueue_many([{}] * 200), *short.options(max_attempts=1).enqueue_many([{}] * 20))
    assert any(one.limit > 2 for one in asked)
    assert all(one.retryable_only for one in asked if one.limit > 2)


@pytest.mark.parametrize(("policy", "is_durable"), [("standard", False), ("singleton", True)])
def test_a_claim_may_be_forgotten_only_where_no_job_waits_for_another(
    policy: Any, is_durable: bool, asked: list[Claim]
) -> None:
    @job
    def short() -> None: ...

    @job(policy=policy)  # in the same queue, if only declared
    def neighbour() -> None: ...

    with working(concurrency=2) as worker:
        worker.pace.note("short", 0, 1000)
        finished(*short.enqueue_many([{}] * 200))
    assert any(one.retryable_only for one in asked)
    assert {one.durable for one in asked} == {is_durable}


def test_a_job_with_a_single_attempt_starts_when_its_claim_cannot_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(claimer_module, "make_durable", lambda connection, jobs: told.append("on the disk"))

    @job
    def work(name: str) -> None:
        told.append(name)

    with working(concurrency=1):
        finished(work.enqueue(name="many"))
        finished(work.options(max_attempts=1).enqueue(name="single"))
    assert told == ["many", "on the disk", "single"]


def test_a_wanted_lane_is_looked_for_at_once_but_not_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    find_lanes = claimer_module.find_lanes

    def costly(connection: Any) -> Any:
        looks.append(time.monotonic())
        time.sleep(0.02)
        return find_lanes(connection)

    monkeypatch.setattr(claimer_module, "find_lanes", costly)
    with working(poll=60, recover_every=60) as worker:
        until(lambda: looks, every=0.01)
        until(lambda: worker.claimer.told(None) or len(looks) >= 3, every=0.001)
    assert all(later - earlier >= 0.02 / 0.05 * 0.9 for earlier, later in pairwise(looks))
