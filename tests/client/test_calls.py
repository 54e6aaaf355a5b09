"""The calls of the client: their shape, what is repeated and how, and what is told of a refusal."""

from __future__ import annotations

import ssl

import pytest

from jobs_app.client import ClientError, JobsClient, LeaseLost, Refused, Unreachable, calls
from tests.client.server import (
    API_TOKEN,
    CUT,
    EMPTY,
    LEASE_TOKEN,
    PULL,
    REPORT,
    TRIGGER,
    ScriptedServer,
    a_job,
    problem,
    taken,
)
from tests.waiting import until

JOB = "0190f5a0-0000-7000-8000-000000000001"


def test_a_pull_asks_for_what_it_was_given_and_nothing_else(server: ScriptedServer, client: JobsClient) -> None:
    server.will_answer(PULL, a_job())
    answer = client.pull("host-1", queues=["leads"], job_types=["scrape"], lease_sec=60, wait_sec=5)
    assert answer["job"]["payload"] == {"city": "Bremen"}
    assert client.pull("host-1", queues=(), lease_sec=None) == EMPTY
    first, second = server.requests
    assert (first.method, first.path) == ("POST", "/jobs/api/pull_job")
    assert first.headers["Authorization"] == f"Bearer {API_TOKEN}"
    assert first.headers["Content-Type"] == "application/json"
    assert first.body == {
        "worker_id": "host-1",
        "queues": ["leads"],
        "job_types": ["scrape"],
        "lease_sec": 60,
        "wait_sec": 5,
    }
    assert second.body == {"worker_id": "host-1", "wait_sec": 0}


def test_a_report_has_a_key_of_its_own(server: ScriptedServer, client: JobsClient) -> None:
    client.report(JOB, LEASE_TOKEN, cursor="page-5")
    client.report(JOB, LEASE_TOKEN)
    first, second = server.sent(REPORT)
    keys = {first.pop("idempotency_key"), second.pop("idempotency_key")}
    assert len(keys) == 2
    assert all(1 <= len(key) <= 200 for key in keys)
    assert first == {"job_id": JOB, "token": LEASE_TOKEN, "cursor": "page-5"}
    assert second == {"job_id": JOB, "token": LEASE_TOKEN}


def test_a_trigger_has_a_key_too_unless_it_is_given_one(server: ScriptedServer, client: JobsClient) -> None:
    server.will_answer(TRIGGER, CUT)
    assert client.trigger("scrape", {"city": "Kiel"}, delay_sec=60)["status"] == "queued"
    client.trigger("scrape", {}, idempotency_key="order-7")
    lost, again, named = server.sent(TRIGGER)
    assert lost == again
    assert again.pop("idempotency_key")
    assert again == {"jobName": "scrape", "payload": {"city": "Kiel"}, "delay_sec": 60}
    assert named["idempotency_key"] == "order-7"


@pytest.mark.parametrize("ending", ["", "/"])
def test_the_url_may_end_with_a_slash_or_not(ending: str, server: ScriptedServer) -> None:
    client = JobsClient(server.url.rstrip("/") + ending, API_TOKEN)
    client.pull("host-1")
    client.close()
    assert server.requests[0].path == "/jobs/api/pull_job"


@pytest.mark.parametrize("url", ["", "host/jobs", "ftp://host/jobs", "http:///jobs", "http://host:port/jobs"])
def test_a_url_that_cannot_be_used_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"url|[Pp]ort"):
        JobsClient(url, API_TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "line\r\nend", "schl\u00fcssel"])
def test_a_token_that_cannot_be_one_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match="one word") as refused:
        JobsClient("http://host/jobs", token)
    assert not token or token not in str(refused.value)


def test_https_checks_the_certificate_and_the_name() -> None:
    context = JobsClient("https://host/jobs/", API_TOKEN)._connection(1)._context
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_report_whose_answer_is_lost_is_sent_again_to_the_letter(
    server: ScriptedServer, client: JobsClient, slept: list[float]
) -> None:
    server.will_answer(REPORT, CUT, CUT, taken(added=1))
    assert client.report(JOB, LEASE_TOKEN, items=[{"key": "a", "data": 1}])["added"] == 1
    assert len(server.requests) == 3
    assert len({request.raw for request in server.requests}) == 1
    assert len(slept) == 2


def test_a_pull_whose_answer_is_lost_is_not_repeated_by_itself(server: ScriptedServer, client: JobsClient) -> None:
    server.will_answer(PULL, CUT)
    with pytest.raises(Unreachable):
        client.pull("host-1")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_is_repeated_after_the_time_that_the_server_asks_for(
    status: int, server: ScriptedServer, client: JobsClient, slept: list[float]
) -> None:
    server.will_answer(REPORT, problem(status, "later", Retry_After="7"))
    assert client.report(JOB, LEASE_TOKEN)["ok"]
    assert slept == [7]


@pytest.mark.parametrize("asked", ["", "soon", "-3", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_time_that_is_no_number_of_seconds_is_passed_over(
    asked: str, server: ScriptedServer, client: JobsClient, slept: list[float]
) -> None:
    server.will_answer(REPORT, problem(503, "later", Retry_After=asked))
    client.report(JOB, LEASE_TOKEN)
    assert slept[0] <= calls.BACKOFF_BASE


def test_a_wait_beyond_the_patience_is_an_error_at_once(
    server: ScriptedServer, client: JobsClient, slept: list[float]
) -> None:
    server.will_answer(REPORT, problem(429, "too many", Retry_After="100"))
    with pytest.raises(Refused) as refused:
        client.report(JOB, LEASE_TOKEN, patience=99)
    assert (refused.value.status, refused.value.retry_after, slept) == (429, 100, [])


def test_the_waits_double_up_to_a_limit_and_differ_by_chance() -> None:
    longest = [
        max(calls.delay_after(Unreachable(), failures) for _ in range(200)) for failures in (0, 1, 2, 3, 20, 5000)
    ]
    for found, most in zip(longest, (0.5, 1, 2, 4, 30, 30), strict=True):
        assert most * 0.9 < found <= most
    assert min(calls.delay_after(Unreachable(), 20) for _ in range(200)) >= 15


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 422, 500])
def test_a_refusal_tells_what_the_server_says_to_do(status: int, server: ScriptedServer, client: JobsClient) -> None:
    server.will_answer(REPORT, problem(status, "Make a token with the scope report."))
    with pytest.raises(Refused, match=f"{status}: Make a token with the scope report.") as refused:
        client.report(JOB, LEASE_TOKEN)
    assert refused.value.status == refused.value.problem["status"] == status
    assert len(server.requests) == 1


def test_a_refusal_is_one_line_whatever_the_server_says(server: ScriptedServer, client: JobsClient) -> None:
    server.will_answer(REPORT, problem(422, "bad\n2026-01-01 INFO forged \x1b[31m"))
    with pytest.raises(Refused) as refused:
        client.report(JOB, LEASE_TOKEN)
    assert str(refused.value) == "422: bad 2026-01-01 INFO forged  [31m"


def test_409_is_a_lost_lease_for_a_report_and_a_refusal_for_a_trigger(
    server: ScriptedServer, client: JobsClient
) -> None:
    server.will_answer(REPORT, problem(409, "stale"))
    server.will_answer(TRIGGER, problem(409, "the key was used for something else"))
    with pytest.raises(LeaseLost, match="stale"):
        client.report(JOB, LEASE_TOKEN)
    with pytest.raises(Refused, match="something else"):
        client.trigger("scrape", {})


def test_a_redirect_is_not_followed(server: ScriptedServer, client: JobsClient) -> None:
    other = ScriptedServer()
    server.will_answer(PULL, (302, {}, {"Location": other.url}))
    with pytest.raises(Refused, match=f"302: a redirect to {other.url}"):
        client.pull("host-1")
    other.close()
    assert other.requests == []


@pytest.mark.parametrize("answer", [(200, b"<html>", {}), (200, b"[]", {}), (404, b"<html>", {})])
def test_an_answer_of_something_else_says_what_to_look_at(
    answer: object, server: ScriptedServer, client: JobsClient
) -> None:
    server.will_answer(PULL, answer)
    with pytest.raises(Refused, match=r"is the url where jobs_app\.urls is included"):
        client.pull("host-1")


def test_a_connection_is_kept(server: ScriptedServer, client: JobsClient) -> None:
    for _ in range(3):
        client.pull("host-1")
    assert len({request.peer for request in server.requests}) == 1


def test_a_connection_that_the_server_closed_meanwhile_costs_nothing(
    server: ScriptedServer, client: JobsClient, slept: list[float]
) -> None:
    server.is_hasty = True
    client.pull("host-1")
    until(lambda: calls._is_closed_by_server(client._own.connection.sock), every=0.01)
    assert client.pull("host-1") == EMPTY
    assert len({request.peer for request in server.requests}) == 2
    assert slept == []


def test_nobody_there_is_told_with_the_host_and_without_the_token(server: ScriptedServer, slept: list[float]) -> None:
    server.close()
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1: ConnectionRefusedError") as failed:
        JobsClient(server.url, API_TOKEN, sleep=slept.append).report(JOB, LEASE_TOKEN, patience=0)
    assert API_TOKEN not in str(failed.value)
    assert isinstance(failed.value, ClientError)
