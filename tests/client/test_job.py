"""What a handler knows and says of its job."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from jobs_app.client import JobCancelled, JobEnded, LeaseLost, Refused, RemoteJob, Unreachable, calls
from jobs_app.client import job as module
from tests.client.server import CUT, LEASE_TOKEN, REPORT, ScriptedServer, problem, taken

Pulled = Callable[..., RemoteJob]


def test_a_job_knows_what_the_pull_told(pulled: Pulled) -> None:
    job = pulled()
    assert (job.job_type, job.queue, job.subject) == ("scrape", "leads", "shop-7")
    assert (job.payload, job.meta) == ({"city": "Bremen"}, {"batch": 3})
    assert (job.attempt, job.max_attempts, job.cursor) == (1, 5, "page-4")
    assert (job.progress_count, job.result_count, job.target_count) == (40, 30, 100)
    assert [job.cancelled, job.stopping, job.lease_lost, job.ended] == [False] * 4


def test_a_job_without_timeout_has_all_the_time_and_another_what_is_left(
    pulled: Pulled, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (pulled().remaining(), pulled().remaining(limit=9)) == (None, 9)
    job = pulled(timeout_sec=60)
    now = job._started
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now + 50))
    assert (job.timeout_sec, job.remaining(), job.remaining(limit=9), job.remaining(limit=11)) == (60, 10, 9, 10)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now + 70))
    assert job.remaining(limit=9) == 0


def test_a_report_has_items_cursor_and_message_and_extends_the_lease(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    assert job.report({"a": {"name": "Ann"}, 7: None}, cursor="page-5", message="page 4 is done")["added"] == 2
    (body,) = server.sent(REPORT)
    assert body.pop("idempotency_key")
    assert body == {
        "job_id": job.job_id,
        "token": LEASE_TOKEN,
        "items": [{"key": "a", "data": {"name": "Ann"}}, {"key": "7", "data": None}],
        "cursor": "page-5",
        "message": "page 4 is done",
        "extend_lease_sec": 180,
    }
    assert (job.cursor, job.progress_count, job.result_count) == ("page-5", 42, 32)


def test_a_message_is_cut_where_servers_would_refuse_it(server: ScriptedServer, pulled: Pulled) -> None:
    pulled().report(message="page\0 \ud800" + "x" * 1000)
    assert server.sent(REPORT)[0]["message"] == "page ?" + "x" * 494


def test_a_report_of_nothing_is_a_heartbeat_and_an_empty_cursor_is_a_cursor(
    server: ScriptedServer, pulled: Pulled
) -> None:
    job = pulled()
    job.report()
    assert job.cursor == "page-4"
    job.report(cursor="")
    assert [set(body) - {"job_id", "token", "idempotency_key"} for body in server.sent(REPORT)] == [
        {"extend_lease_sec"},
        {"extend_lease_sec", "cursor"},
    ]
    assert job.cursor == ""


@pytest.mark.parametrize(("lease", "extend"), [(30.5, 31), (3600, 600)])
def test_a_lease_is_extended_by_its_own_length_as_far_as_servers_go(
    lease: float, extend: int, server: ScriptedServer, pulled: Pulled
) -> None:
    pulled(lease_sec=lease).report()
    assert server.sent(REPORT)[0]["extend_lease_sec"] == extend


@pytest.mark.spec("S1.16")
def test_each_key_is_sent_once(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    job.report([{"key": "a", "data": 1}, {"key": "b", "data": 2}, {"key": "a", "data": 1}])
    job.report({"b": 2, "c": 3})
    job.report({"c": 3})
    assert [[item["key"] for item in body.get("items", ())] for body in server.sent(REPORT)] == [["a", "b"], ["c"], []]


def test_what_was_not_taken_is_sent_again_by_the_next_report(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    server.will_answer(REPORT, problem(413, "send fewer"))
    with pytest.raises(Refused):
        job.report({"a": 1}, cursor="page-5")
    assert job.cursor == "page-4"
    job.report({"a": 1})
    assert [body["items"] for body in server.sent(REPORT)] == [[{"key": "a", "data": 1}]] * 2


def test_the_memory_of_keys_is_bounded_and_the_newest_are_in_it(
    server: ScriptedServer, pulled: Pulled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REMEMBERED_KEYS", 2)
    job = pulled()
    job.report({"a": 1, "b": 1, "c": 1})
    job.report({"a": 1, "b": 1, "c": 1})
    assert [len(body["items"]) for body in server.sent(REPORT)] == [3, 1]
    assert len(job._sent) == 2


def test_a_target_that_is_reached_ends_the_handler_and_nothing_more_is_sent(
    server: ScriptedServer, pulled: Pulled, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    job = pulled()
    server.will_answer(REPORT, taken(added=1, done=True, state="succeeded", done_reason="target_reached"))
    with pytest.raises(JobEnded, match="target_reached"):
        job.report({"a": 1})
    with pytest.raises(JobEnded):
        job.report({"b": 1})
    job.finish({"done": True})
    assert job.ended
    assert len(server.requests) == 1
    assert caplog.messages == [f"job={job.job_id} type=scrape state=succeeded"]


def test_who_is_asked_to_stop_hears_it_after_what_was_found_is_stored(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    server.will_answer(REPORT, taken(added=1, cancel_requested=True))
    with pytest.raises(JobCancelled):
        job.report({"a": 1}, cursor="page-5")
    assert (job.cancelled, job.ended, job.result_count, job.cursor) == (True, False, 31, "page-5")


def test_a_lost_lease_is_told_and_nothing_more_is_sent(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    server.will_answer(REPORT, problem(409, "stale"))
    for _ in range(2):
        with pytest.raises(LeaseLost):
            job.report({"a": 1})
    job.finish({"error": "whatever"})
    assert (job.lease_lost, job.ended, len(server.requests)) == (True, True, 1)


def test_a_report_is_repeated_until_the_lease_is_over_and_a_minute_at_least(
    server: ScriptedServer, pulled: Pulled, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    for file in (module, calls):
        monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for lease, least in ((300, 300), (30, 60)):
        job = pulled(lease_sec=lease)
        job._client._sleep = lambda seconds: now.__setitem__(0, now[0] + seconds)
        began = now[0]
        server.will_answer(REPORT, *[CUT] * 100)
        with pytest.raises(Unreachable):
            job.report()
        assert least - calls.BACKOFF_MAX <= now[0] - began <= least
        server.forget()


def test_the_log_goes_with_the_end_and_its_newest_lines_are_kept(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    for number in range(9000):
        job.log(f"\N{SNOWMAN} line {number}")
    job.log("null \0 and half a character \ud800")
    job.report()
    job.finish({"done": True})
    progress, end = server.sent(REPORT)
    assert "log" not in progress
    assert end["log"].endswith("line 8999\nnull  and half a character ?\n")
    assert 60_000 < len(end["log"].encode()) <= 64 * 1024


def test_the_log_goes_with_the_report_that_may_reach_the_target(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled(result_count=97, target_count=100)
    job.log("was here")
    job.report({"a": 1, "b": 2})
    job.report({"c": 3})
    assert ["log" in body for body in server.sent(REPORT)] == [False, True]
    assert server.sent(REPORT)[1]["log"] == "was here\n"


def test_there_is_one_end(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(job.finish, [{"done": True}, {"release": True}] * 4))
    assert len(server.requests) == 1
    with pytest.raises(JobEnded):
        job.report()


def test_many_threads_of_a_job_may_report_at_once(server: ScriptedServer, pulled: Pulled) -> None:
    job = pulled()

    def report(number: int) -> None:
        job.log(number)
        job.report({f"key-{number}": number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(report, range(80)))
    sent = [item["key"] for body in server.sent(REPORT) for item in body["items"]]
    assert sorted(sent) == sorted(f"key-{number}" for number in range(80))
    assert (job.progress_count, job.result_count, job._log.count("\n")) == (120, 110, 80)
    assert len({request.peer for request in server.requests}) <= 8
