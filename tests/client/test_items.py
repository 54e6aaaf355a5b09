"""More items than one report holds: what goes in which report, and what is stored when one of them is not taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.client import JobCancelled, JobEnded, LeaseLost, Refused, RemoteJob, items
from tests.client.server import REPORT, ScriptedServer, problem, taken

Pulled = Callable[..., RemoteJob]


def found(count: int, size: int = 1) -> dict[str, str]:
    return {f"key-{number}": "x" * size for number in range(count)}


def keys(body: dict[str, Any]) -> list[str]:
    return [item["key"] for item in body.get("items", ())]


@given(st.lists(st.integers(0, 400_000), max_size=20))
def test_portions_have_all_items_in_order_and_no_more_bytes_than_one_that_is_too_large(sizes: list[int]) -> None:
    told = [{"key": str(number), "data": "x" * size} for number, size in enumerate(sizes)]
    portions = items.portions(told)
    assert [item for portion in portions for item in portion] == told
    assert all(portions) or portions == [[]]
    assert all(len(json.dumps(portion)) <= 1_010_000 for portion in portions)


def test_what_is_too_large_for_any_portion_goes_alone() -> None:
    told = [{"key": str(size), "data": "x" * size} for size in (1, 3_000_000, 2)]
    assert items.portions(told) == [told[:1], told[1:2], told[2:]]


@pytest.mark.spec("S1.16")
def test_more_than_a_server_takes_goes_in_several_reports_and_the_cursor_with_the_last(
    server: ScriptedServer, pulled: Pulled
) -> None:
    job = pulled()
    answer = job.report(found(2500), cursor="page-9", message="page 8 is done")
    sent = server.sent(REPORT)
    assert [len(keys(body)) for body in sent] == [1000, 1000, 500]
    assert [key for body in sent for key in keys(body)] == list(found(2500))
    assert [(body.get("cursor"), body.get("message")) for body in sent] == [(None, None)] * 2 + [
        ("page-9", "page 8 is done")
    ]
    assert len({body["idempotency_key"] for body in sent}) == 3
    assert (answer["added"], job.progress_count, job.result_count, job.cursor) == (2500, 2540, 2530, "page-9")


def test_a_thousand_items_go_in_one_report(server: ScriptedServer, pulled: Pulled) -> None:
    pulled().report(found(1000), cursor="page-9")
    assert [len(keys(body)) for body in server.sent(REPORT)] == [1000]


def test_large_items_go_in_reports_of_about_a_megabyte(server: ScriptedServer, pulled: Pulled) -> None:
    pulled().report(found(30, size=100_000), cursor="page-9")
    assert [len(keys(body)) for body in server.sent(REPORT)] == [9, 9, 9, 3]
    assert all(len(request.raw) < 1_010_000 for request in server.requests)


@pytest.mark.spec("S1.16")
def test_when_one_of_several_is_not_taken_the_cursor_stays_and_the_rest_goes_again(
    server: ScriptedServer, pulled: Pulled
) -> None:
    job = pulled()
    server.will_answer(REPORT, taken(added=1000), problem(413, "send fewer"))
    with pytest.raises(Refused):
        job.report(found(2500), cursor="page-9")
    assert (job.cursor, job.result_count) == ("page-4", 1030)
    job.report(found(2500), cursor="page-9")
    again = server.sent(REPORT)[2:]
    assert [key for body in again for key in keys(body)] == list(found(2500))[1000:]
    assert [body.get("cursor") for body in server.sent(REPORT)] == [None, None, None, "page-9"]


def test_who_is_asked_to_stop_between_them_hears_it_after_all_are_stored(
    server: ScriptedServer, pulled: Pulled
) -> None:
    job = pulled()
    server.will_answer(REPORT, taken(added=1000, cancel_requested=True))
    with pytest.raises(JobCancelled):
        job.report(found(2500), cursor="page-9")
    assert [len(keys(body)) for body in server.sent(REPORT)] == [1000, 1000, 500]
    assert job.cursor == "page-9"


@pytest.mark.parametrize(
    ("answer", "error"),
    [(taken(done=True, state="succeeded", done_reason="target_reached"), JobEnded), (problem(409, "stale"), LeaseLost)],
)
def test_after_the_end_the_rest_is_not_sent(
    answer: Any, error: type[Exception], server: ScriptedServer, pulled: Pulled
) -> None:
    server.will_answer(REPORT, answer)
    with pytest.raises(error):
        pulled().report(found(2500), cursor="page-9")
    assert len(server.requests) == 1


def test_an_item_that_is_no_json_is_told_before_anything_is_sent(server: ScriptedServer, pulled: Pulled) -> None:
    with pytest.raises(TypeError, match="JSON"):
        pulled().report({**found(1500), "last": object()})
    assert server.requests == []
