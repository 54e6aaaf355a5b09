"""Why a run waits: each reason made real, and gone again when what caused it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from jobs_app import job
from jobs_app.handles import RunHandle
from jobs_app.insights import runs
from jobs_app.insights.waiting import Reason, Target, waiting_because
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job, WorkerState
from jobs_app.registry import SYSTEM_QUEUE
from tests.by_hand import HandWorker
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

TYPES = ["send", "other", "jobs.own"]


@pytest.fixture(autouse=True)
def now(types: None) -> Iterator[None]:
    """It is T, and one worker with four slots serves every queue."""
    with at(0), timezone.override(UTC):
        worker()
        yield


@pytest.fixture
def types() -> None:
    @job(name="other", queue="mail")
    def other() -> None: ...


@pytest.fixture
def send() -> Any:
    @job(name="send", queue="mail")
    def send(fails: bool = False) -> None:
        if fails:
            raise ValueError("no")

    return send


def worker(worker_id: str = "w-1", *, slots: int = 4, **told: Any) -> None:
    announce(connection, Presence(id=worker_id, **({"job_types": TYPES, "concurrency": slots} | told)))


def why(run: Any) -> list[Reason]:
    found = runs.get(run.id)
    return waiting_because(connection, found, found.read_at)  # type: ignore[attr-defined]


def only(run: Any) -> Reason:
    [reason] = why(run)
    return reason


def kinds(run: Any) -> list[str]:
    return [reason.kind for reason in why(run)]


def starts(run: Any) -> bool:
    """Is it among what a worker claims now?"""
    return run.id in [claimed.id for claimed in HandWorker().claim(100)]


def test_one_that_is_due_and_has_everything_is_taken_at_once(send: Any) -> None:
    run = send.enqueue()
    assert only(run) == Reason(kind="due", sentence="it is due now: a worker takes it within 1 second")
    assert starts(run)


def test_what_runs_or_has_ended_waits_for_nothing(send: Any) -> None:
    running, ended = send.enqueue(), send.enqueue()
    control.cancel(ended.id, "ann")
    assert starts(running)
    assert (why(running), why(ended)) == ([], [])


def test_one_that_is_scheduled_says_for_when(send: Any) -> None:
    run = send.options(delay=3600).enqueue()
    reason = only(run)
    assert (reason.kind, reason.until) == ("scheduled", T + timedelta(hours=1))
    assert reason.sentence == "it is scheduled for 2026-01-01 13:00:00 UTC"
    assert not starts(run)
    with at(3600):
        assert starts(run)


def test_moments_are_told_by_the_clock_of_whoever_reads(send: Any) -> None:
    run = send.options(delay=3600).enqueue()
    with timezone.override("Europe/Berlin"):
        assert only(run).sentence == "it is scheduled for 2026-01-01 14:00:00 CET"


def test_one_that_failed_says_when_it_is_tried_again(send: Any) -> None:
    run = send.enqueue(fails=True)
    HandWorker().work()
    reason = only(run)
    assert (reason.kind, reason.until) == ("backoff", Job.objects.get().run_at)
    assert reason.sentence.startswith("attempt 1 failed: it is tried again at 2026-01-01 12:0")
    control.retry(run.id, "ann")
    assert kinds(run) == ["due"]
    assert starts(run)


def test_one_whose_handler_wants_to_come_back_later_says_so() -> None:
    from jobs_app import Snooze

    @job(name="send", queue="mail")
    def napping() -> None:
        raise Snooze(600)

    run = napping.enqueue()
    HandWorker().work()
    assert only(run).kind == "snoozed"
    assert only(run).until == T + timedelta(minutes=10)
    with at(600):
        assert starts(run)


@pytest.mark.parametrize(
    ("scope", "name", "sentence", "target"),
    [
        ("all", "", "everything is paused by ann: the bank is down", Target("everything")),
        ("queue", "mail", "its queue mail is paused by ann: the bank is down", Target("queue", "mail")),
        ("job_type", "send", "its job type send is paused by ann: the bank is down", Target("job_type", "send")),
        ("subject", "shop-7", "its subject shop-7 is paused by ann: the bank is down", Target("subject", "shop-7")),
    ],
)
def test_a_pause_says_who_and_why(send: Any, scope: str, name: str, sentence: str, target: Target) -> None:
    run = send.options(subject="shop-7").enqueue()
    control.pause(scope, name, "ann", "the bank is down")
    assert only(run) == Reason(kind="paused", sentence=sentence, target=target)
    control.resume(scope, name, "ann")
    assert kinds(run) == ["due"]
    assert starts(run)


def test_a_pause_with_an_end_says_until_when_and_comes_after_one_without(send: Any) -> None:
    run = send.enqueue()
    control.pause("queue", "mail", "ann", until=T + timedelta(hours=2))
    assert only(run).sentence == "its queue mail is paused by ann until 2026-01-01 14:00:00 UTC"
    assert only(run).until == T + timedelta(hours=2)
    control.pause("all", "", "bob", until=T + timedelta(hours=3))
    control.pause("job_type", "send", "bob")
    assert [reason.target and reason.target.kind for reason in why(run)] == ["job_type", "everything", "queue"]


def test_a_pause_that_ends_before_it_is_due_does_not_matter_and_one_that_lasts_comes_first(send: Any) -> None:
    run = send.options(delay=3600).enqueue()
    control.pause("queue", "mail", "ann", until=T + timedelta(minutes=10))
    assert kinds(run) == ["scheduled"]
    control.pause("all", "", "ann", until=T + timedelta(hours=2))
    assert kinds(run) == ["paused", "scheduled"]


def test_what_a_pause_has_parked_and_nobody_opened_yet_says_so(send: Any) -> None:
    run = send.enqueue()
    Job.objects.update(hold="pause")
    assert kinds(run) == ["reopening"]


def test_no_worker_serves_its_queue(send: Any) -> None:
    run = send.enqueue()
    worker(queues=["calls"])
    reason = only(run)
    assert (reason.kind, reason.target) == ("unserved", Target("workers"))
    assert reason.sentence == ("no live worker serves queue mail: start one with manage.py runworker --queues mail")
    worker(queues=["mail"])
    assert kinds(run) == ["due"]


def test_a_worker_that_has_gone_silent_does_not_count(send: Any) -> None:
    run = send.enqueue()
    with at(31):
        assert kinds(run) == ["unserved"]
        worker()
        assert kinds(run) == ["due"]


def test_no_worker_knows_its_job_type(send: Any) -> None:
    run = send.enqueue()
    worker(job_types=["other"])
    assert only(run).kind == "unknown_to_workers"
    assert only(run).sentence == "no live worker of queue mail knows job type send: start one whose code has it"


def test_nobody_knows_its_job_type(send: Any) -> None:
    run = send.enqueue()
    worker(job_types=["other"])
    Job.objects.update(job_type="gone")
    reason = only(run)
    assert reason.kind == "unknown_type"
    assert reason.sentence == "this deployment does not know job type gone: its code is gone, or not there yet"


def test_its_job_type_is_switched_off() -> None:
    is_on = [True]

    @job(name="send", queue="mail", enabled=lambda: is_on[0])
    def send() -> None: ...

    run = send.enqueue()
    is_on[0] = False
    assert only(run).kind == "switched_off"
    assert not starts(run)
    is_on[0] = True
    assert kinds(run) == ["due"]
    assert starts(run)


@pytest.mark.parametrize("column", ["draining", "drain_requested"])
def test_every_worker_that_serves_it_drains(send: Any, column: str) -> None:
    run = send.enqueue()
    WorkerState.objects.update(**{column: True})
    assert only(run).kind == "draining"
    worker("w-2")
    assert kinds(run) == ["due"]


def test_a_chore_waits_for_any_process_and_for_no_pause() -> None:
    @job(name="jobs.own", queue=SYSTEM_QUEUE)
    def own() -> None: ...

    run = own.enqueue()
    control.pause("all", "", "ann")
    assert kinds(run) == ["due"]
    WorkerState.objects.all().delete()
    assert kinds(run) == ["unserved"]


def test_a_window_says_its_name_and_its_end(send: Any) -> None:
    run = send.enqueue()
    control.add_window("backup", "ann", start="11:50", minutes=20)
    reason = only(run)
    assert reason.sentence == "the maintenance window backup lets nothing of it start until 2026-01-01 12:10:00 UTC"
    assert (reason.target, reason.until) == (Target("windows", "backup"), T + timedelta(minutes=10))
    with at(600):
        worker()
        assert kinds(run) == ["due"]
        assert starts(run)


def test_one_that_expires_soon_is_told_so_and_one_that_has_is_over(send: Any) -> None:
    run = send.options(expires_at=T + timedelta(minutes=30)).enqueue()
    assert kinds(run) == ["due", "expires"]
    assert why(run)[1].until == T + timedelta(minutes=30)
    with at(1800):
        assert kinds(run) == ["expired"]
        assert not starts(run)
    control.cancel(run.id, "ann")
    patient = send.options(expires_at=T + timedelta(hours=2)).enqueue()
    assert kinds(patient) == ["due"]


def test_it_takes_a_few_queries_whatever_waits(send: Any, django_assert_max_num_queries: Callable[[int], Any]) -> None:
    send.enqueue_many([{}] * 50)
    run: RunHandle = send.enqueue()
    found: Any = runs.get(run.id)
    with django_assert_max_num_queries(9):
        assert [reason.kind for reason in waiting_because(connection, found, found.read_at)] == ["line"]
