"""What a handler knows and says about its job."""

from __future__ import annotations

import threading
import time
from typing import Any
from uuid import uuid4

import pytest

from jobs_app.errors import JobCancelled, JobTimeout, PayloadInvalid
from tests.worker.flights import NOON, context_of


@pytest.mark.spec("S3.3")
def test_a_handler_knows_its_job_its_attempt_and_its_worker() -> None:
    parent = uuid4()
    context = context_of(
        job_type="deal",
        queue="sp",
        subject="f01",
        attempts=4,
        free_attempts=1,
        actor="ada",
        parent=parent,
        slot_at=NOON,
    )
    assert (context.job_type, context.queue, context.subject) == ("deal", "sp", "f01")
    assert (context.attempt, context.max_attempts) == (3, 5)
    assert (context.actor, context.parent, context.slot_at, context.queued_at) == ("ada", parent, NOON, NOON)
    assert (context.worker, context.worker_id) == ("host1234", "host-1234-uuid")
    assert not context.cancelled
    assert not context.lease_lost


@pytest.mark.spec("S1.4")
def test_progress_keeps_what_is_left_out() -> None:
    context = context_of(cursor="p1", progress_count=10, target_count=50)
    context.progress(11)
    context.progress(message="reading", results=3)
    context.progress(cursor="p2")
    words = context.unsaved()
    assert words is not None
    assert (words.progress_count, words.target_count, words.result_count) == (11, 50, 3)
    assert (words.cursor, words.message) == ("p2", "reading")


@pytest.mark.spec("S1.4")
def test_the_cursor_is_that_of_the_attempt_before_until_this_one_reports_another() -> None:
    context = context_of(attempts=2, cursor="page 7")
    assert context.cursor == "page 7"
    context.progress(5)
    assert context.cursor == "page 7"
    context.progress(cursor="page 8")
    assert context.cursor == "page 8"


def test_words_stay_unsaved_until_they_are_known_to_be_stored() -> None:
    context = context_of()
    assert context.unsaved() is None
    context.progress(1)
    first = context.unsaved()
    assert first is not None
    assert context.unsaved() is first
    context.progress(2)
    context.saved(first)
    second = context.unsaved()
    assert second is not None
    assert second.progress_count == 2
    context.saved(second)
    assert context.unsaved() is None


@pytest.mark.parametrize(
    "words",
    [
        {"count": 2**63},
        {"total": -(2**63)},
        {"count": float("nan")},
        {"cursor": "a\0b"},
        {"cursor": "\ud800"},
        {"cursor": "x" * 10_001},
    ],
)
def test_progress_that_no_row_holds_is_refused_where_it_is_said(words: dict[str, Any]) -> None:
    context = context_of(cursor="p1")
    with pytest.raises(ValueError, match=r"."):
        context.progress(**words)
    assert (context.unsaved(), context.cursor) == (None, "p1")


def test_a_message_is_made_storable() -> None:
    context = context_of()
    context.progress(message="a\0b" + "c" * 600)
    words = context.unsaved()
    assert words is not None
    assert (len(words.message), words.message[:3], words.message[-3:]) == (500, "abc", "...")


def test_the_log_keeps_its_end_when_it_is_too_long(settings: Any) -> None:
    settings.JOBS = {"MAX_LOG_BYTES": 1000}
    context = context_of()
    for number in range(500):
        context.log(f"line {number}")
    text = context.log_text()
    assert len(text.encode()) <= 1000
    assert text.startswith("[... ")
    assert text.endswith("line 498\nline 499")


def test_a_single_line_longer_than_the_limit_is_cut_too(settings: Any) -> None:
    settings.JOBS = {"MAX_LOG_BYTES": 1000}
    context = context_of()
    context.log("é" * 100_000)
    assert len(context.log_text().encode()) <= 1000


def test_a_log_line_may_hold_anything() -> None:
    context = context_of()
    context.log("a\0b\ud800")
    context.log({"n": 1})
    assert context.log_text() == "ab\N{REPLACEMENT CHARACTER}\n{'n': 1}"


def test_meta_is_there_to_read_and_never_changed_in_silence() -> None:
    context = context_of(meta='{"model": "a"}')
    with pytest.raises(TypeError):
        context.meta["model"] = "b"  # type: ignore[index]


def test_facts_are_merged_into_the_meta_of_the_run() -> None:
    context = context_of(meta='{"model": "a"}')
    context.save_meta(cost=0.5)
    context.save_meta(model="b")
    words = context.unsaved()
    assert words is not None
    assert words.meta == '{"model":"b","cost":0.5}'
    assert context.meta == {"model": "b", "cost": 0.5}


def test_facts_that_cannot_be_stored_are_refused_and_leave_the_others_as_they_were() -> None:
    context = context_of()
    context.save_meta(cost=1)
    with pytest.raises(PayloadInvalid):
        context.save_meta(bad=object())
    context.save_meta(model="b")
    assert context.meta == {"cost": 1, "model": "b"}


def test_a_result_that_was_set_goes_before_what_is_returned() -> None:
    context = context_of()
    assert context.result_or("returned") == "returned"
    context.set_result(None)
    assert context.result_or("returned") is None


def test_threads_of_a_job_may_report_at_the_same_time() -> None:
    context = context_of()

    def report(name: str) -> None:
        for number in range(500):
            context.log("line")
            context.progress(number)
            context.save_meta(**{name: number})

    threads = [threading.Thread(target=report, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert context.log_text().count("line") == 2000
    assert context.meta == dict.fromkeys("abcd", 499)


def started_ago(seconds: float, timeout: float) -> Any:
    context = context_of()
    context.begin(time.monotonic() - seconds, timeout)
    return context


@pytest.mark.spec("S3.8", "A3.3")
def test_a_call_inside_a_job_may_take_what_is_left_and_never_more_than_its_limit() -> None:
    assert started_ago(0, 300).remaining(limit=180) == 180
    assert started_ago(190, 240).remaining(limit=180) == pytest.approx(50, abs=1)
    assert started_ago(190, 240).remaining() == pytest.approx(50, abs=1)
    assert started_ago(241, 240).remaining(limit=180) == 0
    assert started_ago(0, 240).remaining(limit=-1) == 0


def test_without_a_timeout_the_limit_alone_counts() -> None:
    context = context_of()
    assert (context.remaining(), context.remaining(limit=180)) == (None, 180)
    assert (context.timeout, context.deadline) == (None, None)
    context.check_timeout()


@pytest.mark.spec("S3.7", "A3.3")
def test_a_check_raises_once_the_deadline_has_passed() -> None:
    started_ago(239, 240).check_timeout()
    with pytest.raises(JobTimeout, match=r"^timed out after 250\S* s \(limit 240 s\)$"):
        started_ago(250, 240).check_timeout()


def test_a_handler_that_was_asked_to_stop_may_raise_it() -> None:
    context = context_of()
    context.raise_if_cancelled()
    context.cancelled = True
    with pytest.raises(JobCancelled, match="asked to stop"):
        context.raise_if_cancelled()
