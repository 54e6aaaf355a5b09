"""Jobs that meet a maintenance window: due at its end, unspent, their handlers not called; what runs goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from jobs_app import Backoff, job
from jobs_app.conf import get_settings
from jobs_app.lifecycle import control
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.testing import run_jobs
from jobs_app.worker.deferring import Calendar
from jobs_app.worker.desk import Asker, Desk
from jobs_app.worker.inline import InlineWorker
from jobs_app.worker.loop import Worker
from tests.lifecycle.rows import one_running
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working
from tests.worker.test_handing_over import spied

pytestmark = pytest.mark.django_db(transaction=True)

SEVEN = {"MAINTENANCE_WINDOWS": "07:00"}


def moment(clock: str, day: int = 1) -> datetime:
    return datetime.fromisoformat(f"2026-01-{day:02}T{clock}").replace(tzinfo=UTC)


def at(clock: str, day: int = 1) -> AbstractContextManager[None]:
    return frozen_clock(moment(clock, day))


def due(run: Any) -> datetime:
    return run.refresh().run_at


def is_deferred(run: Any) -> bool:
    return outcomes(run)[-1:] == ["deferred"] and state(run) == "queued"


@pytest.fixture
def ran() -> list[str]:
    """What handlers were called with."""
    return []


@pytest.fixture
def work(ran: list[str]) -> Any:
    @job(name="work", max_attempts=2, backoff=Backoff(base=0, factor=1, jitter="none"))
    def work(name: str = "", fail: bool = False) -> None:
        ran.append(name)
        if fail:
            raise ConnectionError(name)

    return work


def inline() -> None:
    run_jobs(raise_errors=False)


def in_threads() -> None:
    with working(once=True) as worker:
        until(worker.is_drained, every=0.005)


WORKERS = pytest.mark.parametrize("drain", [inline, in_threads])


@contextmanager
def claiming() -> Iterator[ClaimedJob]:
    """What happens in this block comes between the claim of a job and the look at windows."""
    desk = Desk(serves=lambda queue: True, takes=lambda job_type: True, look_every=0)
    desk.look_at_gates(connection)
    claimed = desk._claim_anew(connection, Asker("worker-1", 60))
    assert claimed is not None
    yield claimed
    assert not desk.lets_run(connection, claimed, "a worker")


@pytest.mark.spec("S0.R9", "A0.4")
@WORKERS
@pytest.mark.parametrize(
    ("window", "met", "end"),
    [
        ("07:00", ("07:05", 1), ("07:20", 1)),
        ("07:00", ("07:00", 1), ("07:20", 1)),
        ("23:50", ("23:55", 1), ("00:10", 2)),
        ("23:50", ("00:09:59.5", 2), ("00:10", 2)),
    ],
)
def test_a_claim_inside_a_window_is_deferred_to_its_end_and_spends_no_attempt(
    work: Any, ran: list[str], settings: Any, drain: Callable[[], None], window: str, met: Any, end: Any
) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": window}
    with at(*met):
        run = work.enqueue()
        drain()
    row = Job.objects.get()
    assert (row.state, row.run_at, row.attempts, row.free_attempts) == ("queued", moment(*end), 1, 1)
    assert (row.token, row.lease_expires_at, row.last_error, ran) == (None, None, "", [])
    attempt = JobAttempt.objects.get()
    assert (attempt.outcome, attempt.success, attempt.started_at) == ("deferred", False, moment(*met))
    told = f"deferred to {moment(*end).isoformat()} by the maintenance window {window} UTC"
    assert attempt.message == told
    with at(*end):
        drain()
    assert (run.refresh().status, outcomes(run)) == ("succeeded", ["deferred", "success"])


@pytest.mark.spec("S0.R9", "A0.4")
@WORKERS
def test_it_has_all_its_attempts_after_the_window(
    work: Any, ran: list[str], settings: Any, drain: Callable[[], None]
) -> None:
    settings.JOBS = SEVEN
    with at("06:59"):
        run = work.options(delay=360).enqueue(fail=True)
    for clock in ("07:05", "07:20"):
        with at(clock):
            drain()
    assert (run.refresh().status, outcomes(run), len(ran)) == ("failed", ["deferred", "error", "error"], 2)


@WORKERS
def test_the_error_of_an_earlier_attempt_is_not_overwritten(
    work: Any, settings: Any, drain: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS = SEVEN
    monkeypatch.setattr(Backoff, "delay_after", lambda *args: 360.0)
    with at("06:59"):
        run = work.enqueue(name="away", fail=True)
        drain()
    with at("07:05"):
        drain()
    assert (outcomes(run), Job.objects.get().last_error, due(run)) == (["error", "deferred"], "away", moment("07:20"))


@pytest.mark.spec("S0.R8", "S0.R9")
@WORKERS
def test_only_what_a_window_covers_is_deferred(ran: list[str], settings: Any, drain: Callable[[], None]) -> None:
    @job(name="mail", queue="mail")
    def mail() -> None:
        ran.append("mail")

    @job(name="report")
    def report() -> None:
        ran.append("report")

    @job(name="other")
    def other() -> None:
        ran.append("other")

    settings.JOBS = {"MAINTENANCE_WINDOWS": [{"start": "07:00", "queues": ["mail"], "job_types": ["report"]}]}
    with at("07:05"):
        runs = [each.enqueue() for each in (mail, report, other)]
        drain()
    assert [is_deferred(run) for run in runs] == [True, True, False]
    assert ran == ["other"]


@pytest.mark.spec("S0.R9")
def test_the_apps_own_chores_go_on(ran: list[str], settings: Any) -> None:
    settings.JOBS = SEVEN

    @job(name="jobs.chore", queue=SYSTEM_QUEUE)
    def chore() -> None:
        ran.append("chore")

    with at("07:05"):
        chore.enqueue()
        inline()
    assert ran == ["chore"]


@pytest.mark.spec("S0.R8")
@WORKERS
def test_windows_that_meet_defer_once(work: Any, settings: Any, drain: Callable[[], None]) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "07:20,07:00"}
    with at("07:05"):
        run = work.enqueue()
        drain()
    assert (due(run), outcomes(run)) == (moment("07:40"), ["deferred"])
    assert JobAttempt.objects.get().message.endswith("by the maintenance window 07:00 UTC")


@pytest.mark.spec("S1.R9")
def test_what_started_before_a_window_ends_normally_inside_it(settings: Any) -> None:
    settings.JOBS = SEVEN
    begun, go_on = threading.Event(), threading.Event()

    @job
    def long() -> str:
        begun.set()
        assert go_on.wait(20)
        return "done"

    with at("06:59"), working(lease=3600):
        run = long.enqueue()
        assert begun.wait(20)
        with at("07:05"):
            waiting = long.enqueue()
            until(lambda: is_deferred(waiting))
            go_on.set()
            assert finished(run) == ["succeeded"]
    assert (run.result, outcomes(run)) == ("done", ["success"])
    assert JobRun.objects.get().finished_at > moment("07:00")


@pytest.mark.spec("S1.R9")
def test_a_failure_inside_a_window_is_taken_too(work: Any, settings: Any) -> None:
    settings.JOBS = SEVEN
    with at("06:59"):
        run = work.enqueue(fail=True)
        worker = InlineWorker()
        claimed = worker.claim()
        assert claimed is not None
    with at("07:05"):
        worker.work(claimed)
        assert (outcomes(run), state(run)) == (["error"], "queued")
        inline()
    assert (outcomes(run), due(run)) == (["error", "deferred"], moment("07:20"))


@WORKERS
def test_a_deferred_job_gives_up_its_key(ran: list[str], settings: Any, drain: Callable[[], None]) -> None:
    @job(singleton=True, subject="tenant")
    def work(tenant: str, name: str) -> None:
        ran.append(name)

    settings.JOBS = SEVEN
    with at("07:05"):
        runs = [work.enqueue(tenant="a", name=name) for name in ("first", "second", "third")]
        drain()
    assert all(map(is_deferred, runs))
    assert not Job.objects.filter(hold="").exists()
    with at("07:10"):
        urgent = work.options(priority=5, delay=600).enqueue(tenant="a", name="urgent")
    with at("07:20"):
        drain()
    assert ran == ["urgent", "first", "second", "third"]
    assert finished(urgent, *runs) == ["succeeded"] * 4


@WORKERS
@pytest.mark.parametrize("policy", ["short", "stately"])
def test_one_whose_place_is_taken_gives_way(
    ran: list[str], settings: Any, drain: Callable[[], None], policy: str
) -> None:
    @job(policy=policy, subject="tenant")
    def work(tenant: str) -> None:
        ran.append(tenant)

    settings.JOBS = SEVEN
    with at("07:05"):
        first = work.enqueue(tenant="a")
        with claiming() as claimed:
            second = work.enqueue(tenant="a")
        assert claimed.id == first.id
        drain()
    assert (first.refresh().status, first.result) == ("cancelled", {"superseded_by": str(second.id)})
    assert is_deferred(second)
    with at("07:20"):
        drain()
    assert (finished(second), ran) == (["succeeded"], ["a"])


def test_one_that_was_asked_to_stop_is_cancelled(work: Any, settings: Any) -> None:
    settings.JOBS = SEVEN
    with at("07:05"):
        run = work.enqueue()
        with claiming():
            control.cancel(run, "ann")
    assert run.refresh().status == "cancelled"


def test_one_by_its_id_is_deferred_too(work: Any, settings: Any) -> None:
    settings.JOBS = SEVEN
    with at("07:05"):
        run = work.enqueue()
        assert InlineWorker().take(run.id) is None
    assert is_deferred(run)


def test_a_key_that_is_handed_over_inside_a_window_starts_nothing(settings: Any, is_postgres: bool) -> None:
    """There the report of one job claims the next of its key, and not the claimer."""
    settings.JOBS = SEVEN
    begun, go_on = threading.Event(), threading.Event()
    ran: list[str] = []

    @job(singleton=True, subject="tenant")
    def work(tenant: str, name: str, wait: bool = False) -> None:
        ran.append(name)
        if wait:
            begun.set()
            assert go_on.wait(20)

    with at("06:59"), working(lease=3600) as worker:
        worker.pace.note("work", 0.0001, 10)  # it is short, and this one is an exception
        worker.pace.note = lambda *given: None
        claimed = spied(worker)
        first = work.enqueue(tenant="a", name="first", wait=True)
        assert begun.wait(20)
        second = work.enqueue(tenant="a", name="second")
        until(lambda: Job.objects.filter(pk=second.id, hold="key").exists() and worker.claimer.is_sated)
        with at("07:05"):
            go_on.set()
            assert finished(first) == ["succeeded"]
            until(lambda: is_deferred(second))
    assert ran == ["first"]
    assert sum(claimed) == (1 if is_postgres else 0)


def test_a_window_that_an_operator_adds_is_kept_by_workers_that_run(work: Any, ran: list[str]) -> None:
    with at("07:05"), working() as worker:
        assert finished(work.enqueue(name="before")) == ["succeeded"]
        control.add_window("backup", "ann", start="07:00", minutes=20)
        until(lambda: worker.claimer.calendar.windows)
        run = work.enqueue(name="inside")
        until(lambda: is_deferred(run))
        control.remove_window("backup", "ann")
        until(lambda: not worker.claimer.calendar.windows)
        assert due(run) == moment("07:20")  # what is deferred stays so
        assert finished(work.enqueue(name="after")) == ["succeeded"]
    assert ran == ["before", "after"]


def test_what_is_deferred_is_no_part_of_a_workers_share(work: Any, ran: list[str], settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": [{"start": "07:00", "queues": ["mail"]}]}
    worker: Worker
    with at("07:05"):
        runs = work.options(queue="mail").enqueue_many([{}] * 5)
        with working(max_jobs=2) as worker:
            until(lambda: all(map(is_deferred, runs)))
            assert not worker.is_spent()
            work.enqueue_many([{"name": "a"}, {"name": "b"}, {"name": "c"}])
            until(worker.is_spent)
    assert sorted(ran) == ["a", "b"]  # at once, in two threads


def test_a_backlog_is_deferred_and_then_done_in_its_order(work: Any, ran: list[str], settings: Any) -> None:
    settings.JOBS = SEVEN
    names = [f"{number:03}" for number in range(300)]
    with at("07:05"):
        runs = work.enqueue_many([{"name": name} for name in names])
        in_threads()
        assert Job.objects.filter(run_at=moment("07:20"), free_attempts=1).count() == len(runs)
    with at("07:20"):
        inline()
    assert ran == names


def test_with_closed_windows_a_batch_costs_a_comparison_for_each_job(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS = SEVEN
    calendar = Calendar(tuple(get_settings().maintenance_windows))
    with at("12:00"):
        claimed = one_running()
    assert calendar.met([claimed]) == {}
    with monkeypatch.context() as patch:
        patch.setattr("jobs_app.worker.deferring.deferral", None)
        later = claimed._replace(started_at=moment("06:59:59.999999", day=2))
        assert calendar.met([claimed, later]) == {}
    assert list(calendar.met([later._replace(started_at=moment("07:00", day=2))])) == [claimed.id]
    assert list(calendar.met([claimed._replace(started_at=moment("07:00"))])) == [claimed.id]


def test_without_windows_nothing_is_asked_of_them() -> None:
    assert not Calendar()
    assert Calendar().met([one_running()]) == {}
