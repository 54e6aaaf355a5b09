"""Leases that are kept while a handler works, and a worker that is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from jobs_app.client import Release, RemoteJob
from jobs_app.client.worker import IGNORE_SECONDS
from tests.client.server import CUT, LEAVE, PULL, REPORT, Request, ScriptedServer, a_job, problem, taken
from tests.client.working import Held, WorkerThread
from tests.waiting import until

Start = Callable[..., WorkerThread]
SHORT = {"lease_sec": 0.15}  # beats every twentieth of a second


def is_beat(body: dict[str, object]) -> bool:
    return set(body) == {"job_id", "token", "idempotency_key", "extend_lease_sec"}


@pytest.mark.spec("S1.16")
def test_the_lease_is_kept_while_the_handler_works_and_not_after(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job(**SHORT))
    worker = start(held)
    server.wait_for(REPORT, is_beat, count=3)
    (beating,) = [thread for thread in threading.enumerate() if "(beat)" in thread.name]
    held.may_go_on.set()
    server.wait_for(REPORT, lambda body: body.get("done"))
    beating.join(30)
    assert not beating.is_alive()
    assert worker.stop() == 0


@pytest.mark.spec("S1.16")
@pytest.mark.parametrize(("lease", "every"), [(180, 60), (30, 10), (3600, 200)])
def test_beats_come_at_a_third_of_what_an_extension_gives(
    lease: float, every: float, pulled: Callable[..., RemoteJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = pulled(lease_sec=lease)
    waits: list[float | None] = []
    limits: list[dict[str, float]] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) > 1

    monkeypatch.setattr(job._over, "wait", wait)
    monkeypatch.setattr(job, "_send", lambda fields, **given: limits.append(given))
    job.beat()
    assert waits == [every, every]
    assert limits == [{"patience": every, "timeout": 10}]  # one that hangs leaves time for others within the lease


def test_a_handler_that_only_works_hears_by_the_heartbeat_that_it_is_asked_to_stop(
    server: ScriptedServer, start: Start
) -> None:
    held = Held()
    server.will_answer(PULL, a_job(**SHORT))
    server.will_answer(REPORT, taken(cancel_requested=True))
    start(held)
    until(lambda: held.begun().cancelled, every=0.01)
    assert not held.begun().ended


def test_a_handler_hears_by_the_heartbeat_that_its_lease_is_lost_and_reports_nothing_more(
    server: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()
    server.will_answer(PULL, a_job(**SHORT))
    server.will_answer(REPORT, problem(409, "stale"))
    worker = start(held)
    until(lambda: "lost its lease: dropped" in caplog.text, every=0.01)
    assert held.begun().lease_lost
    held.may_go_on.set()
    assert worker.stop() == 0
    assert len(server.sent(REPORT)) == 1
    assert len(caplog.records) == 1


def test_a_handler_hears_by_the_heartbeat_that_somebody_ended_its_run(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job(**SHORT))
    server.will_answer(REPORT, taken(done=True, state="failed"))
    worker = start(held)
    until(lambda: held.begun().ended, every=0.01)
    held.may_go_on.set()
    assert worker.stop() == 0
    assert len(server.sent(REPORT)) == 1


def test_an_outage_does_not_end_a_job(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job(**SHORT))
    server.will_answer(REPORT, CUT, CUT, problem(503, "away"), problem(500, "a bug"), problem(404, "of a proxy"))
    worker = start(held)
    server.wait_for(REPORT, is_beat, count=6)
    assert not held.begun().lease_lost
    held.may_go_on.set()
    assert server.wait_for(REPORT, lambda body: body.get("done"))
    assert worker.stop() == 0


def test_a_stop_lets_running_jobs_end(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job())
    worker = start(held, grace=30)
    assert not held.begun().stopping
    worker.worker.stop()
    assert held.begun().stopping
    held.may_go_on.set()
    assert worker.code() == 0
    assert [body["result"] for body in server.sent(REPORT)] == ["went on"]
    assert not worker.worker.left_running
    assert len(server.sent(PULL)) == 1


def test_a_handler_may_give_its_job_back_when_it_sees_the_stop(server: ScriptedServer, start: Start) -> None:
    begun = threading.Event()

    def handler(job: RemoteJob) -> None:
        begun.set()
        until(lambda: job.stopping, every=0.01)
        job.report(cursor="page-9")
        raise Release

    server.will_answer(PULL, a_job())
    worker = start(handler)
    assert begun.wait(30)
    assert worker.stop() == 0
    assert server.sent(LEAVE) == [{"worker_id": "w-1"}]
    progress, end = server.sent(REPORT)
    assert (progress["cursor"], end["release"]) == ("page-9", True)


def test_what_does_not_end_within_the_grace_is_given_back(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job(), a_job())
    worker = start(held, grace=0, concurrency=2)
    server.wait_for(PULL, count=2)
    until(lambda: len(worker.worker._running) == 2, every=0.01)
    held.begun().log("half way")
    assert worker.stop() == 0
    assert worker.worker.left_running
    assert [body["release"] for body in server.sent(REPORT)] == [True, True]
    assert sorted(body.get("log", "") for body in server.sent(REPORT)) == ["", "half way\n"]
    held.may_go_on.set()
    until(lambda: not worker.worker.left_running, every=0.01)
    assert len(server.sent(REPORT)) == 2  # the end of the handlers is told to nobody


def test_a_server_that_is_away_does_not_keep_a_worker_that_must_go(
    server: ScriptedServer, start: Start, slept: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()
    server.will_answer(PULL, a_job())
    server.will_answer(REPORT, problem(503, "away", Retry_After="60"))
    worker = start(held, grace=0)
    held.begun()
    assert worker.stop() == 0
    assert slept == []
    assert "its end was not taken, and another worker will get it: 503: away" in caplog.text
    assert len(server.sent(REPORT)) == 1


def test_a_job_that_a_waiting_pull_brings_after_the_stop_is_given_back(server: ScriptedServer, start: Start) -> None:
    may_answer = threading.Event()

    def late(request: Request) -> dict[str, object]:
        assert may_answer.wait(30)
        return a_job()

    held = Held()
    server.will_answer(PULL, late)
    worker = start(held)
    server.wait_for(PULL)
    worker.worker.stop()
    may_answer.set()
    assert worker.code() == 0
    assert [body["release"] for body in server.sent(REPORT)] == [True]
    assert not held.has_begun.is_set()


@pytest.mark.parametrize(("grace", "wait"), [(25, 20), (15.5, 10), (3, 0)])
def test_a_pull_waits_no_longer_than_the_grace_allows(
    grace: float, wait: int, server: ScriptedServer, start: Start
) -> None:
    worker = start(print, grace=grace)
    server.wait_for(PULL)
    worker.stop()
    assert repr(server.sent(PULL)[0]["wait_sec"]) == repr(wait)


def test_two_signals_in_a_row_are_one_and_a_later_one_forces(
    server: ScriptedServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    server.will_answer(PULL, a_job())
    worker = start(held, grace=60)
    held.begun()
    worker.worker.on_signal()
    worker.worker.on_signal()
    until(lambda: held.begun().stopping, every=0.01)
    assert not server.sent(REPORT)
    worker.worker._signals.append(worker.worker._signals[0] + IGNORE_SECONDS + 0.1)
    assert worker.code() == 1
    assert [body["release"] for body in server.sent(REPORT)] == [True]
