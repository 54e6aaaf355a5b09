"""What becomes of a job when its handler ends, one way or another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from jobs_app.client import JobsClient, Permanent, Release, RemoteJob, RemoteWorker, RetryLater
from tests.client.server import CUT, DRAINING, LEASE_TOKEN, PULL, REPORT, ScriptedServer, a_job, problem, taken


def end_of(server: ScriptedServer, client: JobsClient, handler: Any, *answers: Any, **job: Any) -> dict[str, Any]:
    """The last report of one job; `answers` are those of its reports."""
    server.will_answer(PULL, a_job(**job), DRAINING)
    server.will_answer(REPORT, *answers)
    assert RemoteWorker(client, handler, worker_id="w-1").run() == 0
    end = server.sent(REPORT)[-1]
    assert end.pop("idempotency_key")
    assert (end.pop("job_id"), end.pop("token"), end.pop("extend_lease_sec")) == (
        a_job()["job"]["job_id"],
        LEASE_TOKEN,
        180,
    )
    return end


def raising(error: BaseException) -> Callable[[RemoteJob], None]:
    def handler(job: RemoteJob) -> None:
        raise error

    return handler


def test_what_a_handler_returns_is_the_result(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, lambda job: {"pages": 3}) == {"done": True, "result": {"pages": 3}}
    assert end_of(server, client, lambda job: 0) == {"done": True, "result": 0}


def test_a_handler_that_returns_nothing_sends_no_result(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, lambda job: job.log("was here")) == {"done": True, "log": "was here\n"}


def test_an_error_is_told_with_message_class_and_traceback(server: ScriptedServer, client: JobsClient) -> None:
    def handler(job: RemoteJob) -> None:
        job.log("before")
        raise LookupError("no such city\0")

    end = end_of(server, client, handler)
    assert (end["error"], end["error_class"], set(end)) == (
        "no such city",
        "LookupError",
        {"error", "error_class", "log"},
    )
    assert end["log"].startswith("before\nTraceback")
    assert end["log"].endswith("LookupError: no such city\n\n")


def test_an_error_without_words_is_told_by_its_name(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, raising(TimeoutError()))["error"] == "TimeoutError"


def test_an_error_that_has_no_text_costs_nothing(server: ScriptedServer, client: JobsClient) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert end_of(server, client, raising(Mute()))["error"] == "<Mute that cannot be shown as text>"


def test_an_error_for_good_is_permanent(server: ScriptedServer, client: JobsClient) -> None:
    end = end_of(server, client, raising(Permanent("the shop is closed")))
    assert (end["error"], end["error_class"]) == ("the shop is closed", "jobs_app.client.errors.Permanent")
    assert (end["permanent"], "retry_after_sec" in end) == (True, False)


@pytest.mark.parametrize(("after", "told"), [(90, {"retry_after_sec": 90}), (0, {"retry_after_sec": 0}), (None, {})])
def test_an_error_may_say_when_to_try_again(
    after: float | None, told: dict[str, float], server: ScriptedServer, client: JobsClient
) -> None:
    end = end_of(server, client, raising(RetryLater("rate limit", after=after)))
    assert end.pop("log")
    assert end == {"error": "rate limit", "error_class": "jobs_app.client.errors.RetryLater", **told}


def test_a_job_that_its_handler_gives_back_is_released(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, raising(Release())) == {"release": True}


def test_a_handler_that_calls_exit_fails_and_the_worker_goes_on(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, lambda job: sys.exit(3))["error_class"] == "SystemExit"


@pytest.mark.parametrize("result", [object(), float("nan"), {1, 2}])
def test_a_result_that_is_no_json_is_an_error_of_the_attempt(
    result: object, server: ScriptedServer, client: JobsClient
) -> None:
    assert "JSON" in end_of(server, client, lambda job: result)["error"]
    assert len(server.sent(REPORT)) == 1


def test_a_result_that_is_refused_is_an_error_of_the_attempt(server: ScriptedServer, client: JobsClient) -> None:
    end = end_of(server, client, lambda job: "x" * 1000, problem(413, "a result has 500 bytes at most"))
    assert end == {"error": "413: a result has 500 bytes at most", "error_class": "jobs_app.client.errors.Refused"}


def test_what_is_too_long_of_an_error_is_cut(server: ScriptedServer, client: JobsClient) -> None:
    kind = type("Long" * 100, (Exception,), {})
    end = end_of(server, client, raising(kind("x" * 100_000)))
    assert (len(end["error_class"]), len(end["error"]), len(end["log"])) == (200, 65536, 65536)


def test_a_delay_that_is_none_is_an_error_like_any_other(server: ScriptedServer, client: JobsClient) -> None:
    odd: Any = object()
    assert "JSON" in end_of(server, client, raising(RetryLater("later", after=odd)))["error"]


def test_who_reaches_the_target_sends_no_end(server: ScriptedServer, client: JobsClient) -> None:
    def handler(job: RemoteJob) -> None:
        job.report({"a": 1})
        raise AssertionError("never here")

    end = end_of(server, client, handler, taken(added=1, done=True, state="succeeded", done_reason="target_reached"))
    assert end == {"items": [{"key": "a", "data": 1}]}


def test_who_was_asked_to_stop_ends_with_an_error_without_a_traceback(
    server: ScriptedServer, client: JobsClient
) -> None:
    end = end_of(
        server, client, lambda job: job.report(), taken(cancel_requested=True), taken(state="cancelled", done=True)
    )
    assert end == {"error": "asked to stop", "error_class": "jobs_app.client.errors.JobCancelled"}


@pytest.mark.parametrize("handler", [lambda job: job.report(cursor="x"), lambda job: None])
def test_a_job_whose_lease_is_lost_is_dropped_with_one_warning(
    handler: Any, server: ScriptedServer, client: JobsClient, caplog: pytest.LogCaptureFixture
) -> None:
    assert end_of(server, client, handler, problem(409, "stale")) in ({"cursor": "x"}, {"done": True})
    assert len(server.sent(REPORT)) == 1
    told = f"job={a_job()['job']['job_id']} lost its lease: dropped, another worker has it"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", told)]


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_end_that_is_refused_is_told_in_the_log_and_the_worker_goes_on(
    status: int, server: ScriptedServer, client: JobsClient, caplog: pytest.LogCaptureFixture
) -> None:
    end_of(server, client, lambda job: None, problem(status, "no"))
    assert f"its end was not taken, and another worker will get it: {status}: no" in caplog.text
    assert len(server.sent(REPORT)) == 1


def test_an_end_whose_answer_is_lost_is_sent_again_under_its_key(server: ScriptedServer, client: JobsClient) -> None:
    end_of(server, client, lambda job: 7, CUT)
    first, second = (request.raw for request in server.requests if request.path.endswith(REPORT))
    assert first == second


def test_there_may_be_a_handler_for_each_job_type(server: ScriptedServer, client: JobsClient) -> None:
    handlers = {"scrape": lambda job: "scraped", "send": lambda job: "sent"}
    assert end_of(server, client, handlers, job_type="send")["result"] == "sent"
    assert server.sent(PULL)[0]["job_types"] == ["scrape", "send"]


def test_a_job_without_a_handler_fails_and_says_so(server: ScriptedServer, client: JobsClient) -> None:
    assert end_of(server, client, {"send": print})["error_class"] == "KeyError"
