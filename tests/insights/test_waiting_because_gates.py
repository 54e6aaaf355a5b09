"""Why a run waits before a gate or in line: its key, a limit, a rate, taken slots, whoever is in front."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs_app import job
from jobs_app.insights.waiting import Target
from jobs_app.insights.waiting.line import MOST_COUNTED
from jobs_app.lifecycle import control
from jobs_app.models import Job, WorkerState
from tests.by_hand import HandWorker
from tests.insights.test_waiting_because import kinds, only, starts, why, worker
from tests.lifecycle.plans import rows_read_by
from tests.lifecycle.rows import T, at, done, stored

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def now() -> Iterator[None]:
    with at(0), timezone.override(UTC):
        worker(slots=100)
        yield


def define(name: str = "send", **options: Any) -> Any:
    @job(name=name, queue="mail", **options)
    def send(n: int = 0) -> None: ...

    return send


def end_first() -> None:
    """Whoever runs reports success."""
    [running] = Job.objects.filter(state="running").order_by("started_at", "pk")[:1]
    assert done(running)  # type: ignore[arg-type]


def test_a_busy_subject_leads_to_the_run_that_has_it() -> None:
    send = define(policy="singleton").options(subject="shop-7")
    first, second, third = send.enqueue(), send.enqueue(), send.enqueue()
    assert starts(first)
    assert [reason.kind for reason in why(second)] == ["key_busy"]
    assert only(second).sentence == f"its subject shop-7 is busy with run {first.id} of send"
    assert only(second).target == Target("run", str(first.id))
    assert kinds(third) == ["key_busy", "key_line"]
    assert why(third)[1].sentence == "in front of it, with its key shop-7 and its job type: 1"
    end_first()
    assert starts(second)
    assert why(third)[0].target == Target("run", str(second.id))


def test_a_key_may_be_busy_with_another_type_of_its_queue() -> None:
    one, other = define(policy="singleton"), define("other", policy="singleton")
    first = one.options(key="k").enqueue()
    second = other.options(key="k").enqueue()
    assert starts(first)
    assert only(second).sentence == f"its key k is busy with run {first.id} of send"
    end_first()
    assert kinds(second) == ["due"]
    assert starts(second)


def test_as_many_of_one_key_run_as_may() -> None:
    send = define(concurrency_per_key=2).options(key="k")
    first, _, third = send.enqueue(), send.enqueue(), send.enqueue()
    assert starts(first)
    assert kinds(third) == ["key_limit"]
    assert only(third).sentence == "2 runs with its key k are before it, and no more may be at once"
    end_first()
    assert starts(third)


def test_the_limit_of_its_queue_is_reached() -> None:
    send = define()
    control.limit_queue("mail", "ann", concurrency=2)
    first, _, third, fourth = (send.enqueue() for _ in range(4))
    assert starts(first)
    assert only(third).sentence == "the limit of queue mail is reached: 2 of 2 run or are about to"
    assert only(third).target == Target("queue", "mail")
    assert kinds(fourth) == ["queue_limit", "line"]
    end_first()
    assert starts(third)


def test_a_limit_that_was_set_after_it_was_stored_holds_it_too() -> None:
    send = define()
    first, second = send.enqueue(), send.enqueue()
    [claimed] = HandWorker().claim(1)
    assert claimed.id == first.id
    control.limit_queue("mail", "ann", concurrency=1)
    Job.objects.filter(pk=first.id).update(gate=1)
    assert kinds(second) == ["queue_limit"]
    control.unlimit_queue("mail", "ann")
    assert kinds(second) == ["due"]
    assert starts(second)


def test_one_that_a_limit_has_let_in_waits_for_a_worker_only() -> None:
    send = define(concurrency=1)
    run = send.enqueue()
    HandWorker().claim(0)  # admits, and takes nothing
    assert Job.objects.get().hold == ""
    assert kinds(run) == ["due"]


def test_the_limit_of_its_job_type_is_reached() -> None:
    send = define(concurrency=1)
    first, second = send.enqueue(), send.enqueue()
    assert starts(first)
    assert only(second).sentence == "the limit of job type send is reached: 1 of 1 run or are about to"
    assert only(second).target == Target("job_type", "send")
    end_first()
    assert starts(second)


@pytest.mark.parametrize(
    ("of_type", "of_queue", "sentence", "target"),
    [
        ({}, {"rate": "1/minute"}, "the rate of its queue, 1 in 60 seconds", Target("queue", "mail")),
        ({"rate": "1/minute"}, {}, "the rate of its job type, 1 in 60 seconds", Target("job_type", "send")),
    ],
)
def test_a_rate_says_when_the_next_may_start(of_type: Any, of_queue: Any, sentence: str, target: Target) -> None:
    send = define(**of_type)
    if of_queue:
        control.limit_queue("mail", "ann", **of_queue)
    first, second = send.enqueue(), send.enqueue()
    assert starts(first)
    reason = only(second)
    assert reason.sentence == f"{sentence}, lets the next one start at 2026-01-01 12:01:00 UTC"
    assert (reason.kind, reason.target, reason.until) == ("rate", target, T + timedelta(seconds=60))
    assert not starts(second)
    with at(60):
        worker(slots=100)
        assert kinds(second) == ["due"]
        assert starts(second)


def test_the_rate_of_its_key_says_when_it_may_start() -> None:
    send = define(rate_per_key="1/minute").options(key="k")
    first, second = send.enqueue(), send.enqueue()
    assert starts(first)
    assert kinds(second) == ["rate"]
    assert only(second).until == T + timedelta(seconds=60)
    assert not starts(second)
    with at(60):
        worker(slots=100)
        assert starts(second)


def test_all_slots_of_those_who_could_take_it_are_busy() -> None:
    send = define()
    worker(slots=1)
    first, second = send.enqueue(), send.enqueue()
    assert starts_one(first)
    assert only(second).sentence == "the one slot of the workers that could take it is busy"
    assert only(second).target == Target("workers")
    worker("w-2", slots=3, queues=["calls"])
    assert kinds(second) == ["slots"]
    worker("w-2", slots=3)
    assert kinds(second) == ["due"]
    worker("w-2", slots=0)
    end_first()
    assert kinds(second) == ["due"]
    assert starts(second)


def test_each_process_runs_as_many_as_one_may() -> None:
    send = define(concurrency_per_process=1)
    first, second = send.enqueue(), send.enqueue()
    assert starts_one(first)
    assert kinds(second) == ["process_limit"]
    end_first()
    assert kinds(second) == ["due"]


def starts_one(run: Any) -> bool:
    """The worker of these tests takes one and no more."""
    [claimed] = HandWorker().claim(1)
    Job.objects.filter(pk=claimed.id).update(worker_id="w-1")
    return bool(claimed.id == run.id)


def test_whoever_is_more_urgent_or_earlier_and_due_is_in_front() -> None:
    send = define()
    with at(-10):
        send.enqueue()
        run = send.enqueue()
    send.enqueue()
    send.options(priority=5).enqueue()
    send.options(priority=7, delay=60).enqueue()
    send.options(priority=-5).enqueue()
    assert only(run).sentence == "in front of it in queue mail, due and more urgent or earlier: 2"
    assert only(run).target == Target("queue", "mail")
    HandWorker().claim(2)
    assert kinds(run) == ["due"]


def test_before_a_gate_the_others_of_its_type_are_in_front() -> None:
    send, other = define(concurrency=1), define("other", concurrency=1)
    for _ in range(3):
        send.enqueue()
        other.enqueue()
    run = send.enqueue()
    assert starts_any()
    assert [(each.kind, each.sentence) for each in why(run)][1:] == [
        ("line", "in front of it in queue mail, of its job type: 2")
    ]


def starts_any() -> bool:
    return bool(HandWorker().claim(100))


def test_subjects_that_take_turns_count_their_own() -> None:
    send = define()
    control.limit_queue("mail", "ann", concurrency=1, fair_share=True)
    for subject in ("shop-1", "shop-2", "shop-2", "shop-3"):
        send.options(subject=subject).enqueue()
    run = send.options(subject="shop-2").enqueue()
    assert starts_any()
    assert why(run)[1].sentence == "subjects take turns in queue mail; of its own, in front: 2"


def test_counting_stops_at_a_thousand() -> None:
    define()
    stored(MOST_COUNTED + 5, queue="mail", job_type="send")
    last = Job.objects.order_by("-pk")[0]
    assert only(last).sentence.endswith(": 1,000+")


def test_no_more_is_read_than_is_counted(is_postgres: bool) -> None:
    """Nor what comes after it, nor what is due later, though all of it has one moment and one priority."""
    if not is_postgres:
        pytest.skip("only PostgreSQL tells what it read")
    define()
    stored(3000, queue="mail", job_type="send", priority=3, delay=60)
    stored(3000, queue="mail", job_type="send")
    first = Job.objects.filter(priority=0).order_by("run_at", "pk")[0]
    last = Job.objects.filter(priority=0).order_by("-run_at", "-pk")[0]
    assert kinds(first) == ["due"]
    assert rows_read_by(lambda: why(first)) < 50
    assert rows_read_by(lambda: why(last)) < MOST_COUNTED + 100
    for hold in ("key", "limit", "new"):
        Job.objects.update(hold=hold, gate=2, key="k")
        assert rows_read_by(lambda: why(first)) < 50, hold
        assert rows_read_by(lambda: why(last)) < MOST_COUNTED + 100, hold


def test_every_queued_run_has_a_reason_whatever_holds_it() -> None:
    define()
    runs = stored(6, queue="mail", job_type="send", key="k")
    for run_id, hold in zip(runs, ("", "new", "key", "limit", "pause", ""), strict=True):
        Job.objects.filter(pk=run_id).update(hold=hold)
    WorkerState.objects.update(excluded=["none"])
    assert all(why(each) for each in Job.objects.all())
