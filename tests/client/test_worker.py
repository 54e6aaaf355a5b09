"""The loop of a remote worker: what it asks for, how often, and when it ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from jobs_app.client import JobsClient, RemoteWorker, calls
from jobs_app.client import worker as module
from tests.client.server import (
    API_TOKEN,
    CUT,
    DRAINING,
    EMPTY,
    LEASE_TOKEN,
    PULL,
    REPORT,
    ScriptedServer,
    a_job,
    problem,
    taken,
)
from tests.client.working import Held, WorkerThread
from tests.waiting import until

Start = Callable[..., WorkerThread]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns without a job follow each other at once, and failed pulls almost."""
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(calls, "BACKOFF_BASE", 0.01)


def test_a_pull_says_who_asks_and_for_what(server: ScriptedServer, start: Start) -> None:
    server.will_answer(PULL, DRAINING)
    asked = {"queues": ["leads"], "job_types": ["scrape"], "lease_sec": 90, "wait_sec": 5, "concurrency": 1}
    assert start(print, worker_id="host-1", **asked).code() == 0
    assert server.sent(PULL) == [{"worker_id": "host-1", **asked}]


def test_a_worker_has_a_name_of_its_own_that_servers_accept(
    client: JobsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.socket, "gethostname", lambda: "Ann's host\n" * 20)
    names = {RemoteWorker(client, print).worker_id for _ in range(5)}
    assert len(names) == 5
    assert all(module.re.fullmatch(r"[A-Za-z0-9._:-]{1,64}", name) for name in names)


def test_what_was_drained_ends_with_0_after_what_runs(server: ScriptedServer, start: Start) -> None:
    held = Held()
    server.will_answer(PULL, a_job(), DRAINING)
    worker = start(held, concurrency=2, grace=0)
    held.begun()
    server.wait_for(PULL, count=2)
    assert not held.begun().stopping
    held.may_go_on.set()
    assert worker.code() == 0
    assert [body["result"] for body in server.sent(REPORT)] == ["went on"]
    assert len(server.sent(PULL)) == 2


def test_without_a_job_it_asks_again(server: ScriptedServer, start: Start) -> None:
    server.will_answer(PULL, EMPTY, {**EMPTY, "reason": "paused", "stopped": True}, a_job(), EMPTY, DRAINING)
    assert start(lambda job: None).code() == 0
    assert (len(server.sent(PULL)), len(server.sent(REPORT))) == (5, 1)


def test_where_the_server_did_not_wait_the_worker_does(
    server: ScriptedServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 60)
    worker = start(print)
    server.wait_for(PULL)
    assert worker.stop() == 0  # at once, though the wait is a minute
    assert len(server.sent(PULL)) == 1


def test_pulls_that_fail_are_repeated(server: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server.will_answer(PULL, CUT, problem(503, "database away"), problem(500, "a bug"), a_job(), DRAINING)
    assert start(lambda job: None).code() == 0
    assert len(server.sent(REPORT)) == 1
    assert "s: 503: database away" in caplog.text


def test_a_pull_that_is_one_too_many_waits_as_long_as_it_is_told(
    server: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server.will_answer(PULL, problem(429, "too many pulls wait", Retry_After="50"))
    worker = start(print)
    until(lambda: "pulling again in 50.0 s: 429: too many pulls wait" in caplog.text, every=0.01)
    assert worker.stop() == 0
    assert len(server.sent(PULL)) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_a_refusal_that_does_not_get_better_ends_the_worker_with_2(
    status: int, server: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server.will_answer(PULL, problem(status, "Make a new token."))
    assert start(print).code() == 2
    assert f"{status}: Make a new token." in caplog.text
    assert len(server.sent(PULL)) == 1


def test_an_answer_that_nobody_expects_ends_the_worker_with_1(
    server: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server.will_answer(PULL, {"jobs": []})
    assert start(print).code() == 1
    assert "KeyError" in caplog.text


def test_once_works_off_what_is_due_and_does_not_wait_for_long(server: ScriptedServer, start: Start) -> None:
    server.will_answer(PULL, a_job(), a_job(), EMPTY)
    assert start(lambda job: None, once=True).code() == 0
    assert [body["wait_sec"] for body in server.sent(PULL)] == [module.ONCE_WAIT_SECONDS] * 3
    assert len(server.sent(REPORT)) == 2


def test_once_is_not_over_while_the_server_has_not_looked_everywhere(server: ScriptedServer, start: Start) -> None:
    server.will_answer(PULL, {**EMPTY, "reason": "busy"}, a_job(), EMPTY)
    assert start(lambda job: None, once=True).code() == 0
    assert (len(server.sent(PULL)), len(server.sent(REPORT))) == (3, 1)


def test_once_does_not_try_for_ever(server: ScriptedServer, start: Start) -> None:
    server.will_answer(PULL, *[CUT] * 20)
    assert start(print, once=True).code() == 2
    assert len(server.sent(PULL)) == module.ONCE_FAILURES


def test_so_many_jobs_run_at_once(server: ScriptedServer, start: Start) -> None:
    together = threading.Barrier(3, timeout=30)
    server.will_answer(PULL, a_job(), a_job(), a_job())
    worker = start(lambda job: together.wait() and None, concurrency=3)
    assert all(body["done"] for body in server.wait_for(REPORT, count=3))
    assert server.sent(PULL)[0]["concurrency"] == 3
    assert worker.stop() == 0


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"wait_sec": -1}, {"grace": -1}])
def test_options_that_cannot_be_are_refused(options: dict[str, int], client: JobsClient) -> None:
    with pytest.raises(ValueError, match="concurrency is 1 or more"):
        RemoteWorker(client, print, **options)


def test_no_token_is_ever_logged(server: ScriptedServer, client: JobsClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.will_answer(PULL, CUT, problem(503, "away"), a_job(), a_job(), a_job(), problem(401, "no"))
    server.will_answer(REPORT, CUT, problem(502, "away"), taken(done=True), problem(422, "bad"), problem(409, "stale"))
    RemoteWorker(client, lambda job: job.payload["none"], worker_id="w-1").run()
    assert "lost its lease" in caplog.text
    assert API_TOKEN not in caplog.text
    assert LEASE_TOKEN not in caplog.text
    assert all(API_TOKEN not in str(body) for body in server.sent(REPORT))
    assert all(LEASE_TOKEN not in body.get("log", "") for body in server.sent(REPORT))
