"""What the reports of a remote worker do: items, counts, cursor and lease, and every way to end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.models import Job, JobItem
from tests.api.scraping import ended, lost_time, moment, stored
from tests.api.speaking import Speaker, items
from tests.lifecycle.rows import T, at, attempts_of, outcomes_of, tables

pytestmark = pytest.mark.django_db


@pytest.mark.spec("S1.10", "S1.R1", "S1.R11")
@pytest.mark.parametrize(
    ("asked", "after", "until"), [(None, 100, 220), (120, 100, 220), (10, 150, 210), (None, 10, 180), (9999, 10, 610)]
)
def test_a_report_extends_the_lease_from_now_and_never_shortens_it(
    speaker: Speaker, scrape: Any, asked: int | None, after: int, until: int
) -> None:
    with at(0):
        scrape.enqueue()
        job_ = speaker.job()
    with at(after):
        told = speaker.told(job_, extend_lease_sec=asked)
    assert moment(told["lease_expires_at"]) == stored(job_["job_id"]).lease_expires_at == T + timedelta(seconds=until)


@pytest.mark.spec("S1.4", "S1.12", "S1.13", "S1.14", "S1.15", "S1.R5", "A1.3")
def test_a_job_with_a_target_ends_when_enough_new_results_are_there(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        scrape.enqueue(wanted=5)
        job_ = speaker.job()
    with at(60):
        told = speaker.told(job_, items=items("a", "b", "a"), cursor="page 2", extend_lease_sec=120)
    assert (told["ok"], told["added"], told["duplicates"], told["done"]) == (True, 2, 1, False)
    row = stored(job_["job_id"])
    assert (row.progress_count, row.result_count, row.cursor) == (3, 2, "page 2")
    assert row.last_progress_at == T + timedelta(seconds=60)
    with at(70):
        told = speaker.told(job_, items=items("b", "c", "d", "e"))
    assert (told["added"], told["duplicates"], told["done"], told["lease_expires_at"]) == (3, 1, True, None)
    run = ended(job_["job_id"])
    assert (run.state, run.done_reason, run.progress_count, run.result_count) == ("succeeded", "target_reached", 7, 5)
    assert run.finished_at == T + timedelta(seconds=70)
    assert not Job.objects.exists()
    assert [attempt.success for attempt in attempts_of(run.pk)] == [True]
    assert set(JobItem.objects.filter(job_id=run.pk).values_list("key", flat=True)) == set("abcde")


@pytest.mark.spec("S1.1", "S1.15", "S1.R5", "A1.3")
@pytest.mark.parametrize(("wanted", "reason"), [(5, "no_more_results"), (2, "target_reached"), (None, "worker_done")])
def test_done_says_whether_the_target_was_reached(
    speaker: Speaker, scrape: Any, wanted: int | None, reason: str
) -> None:
    scrape.enqueue(wanted=wanted)
    job_ = speaker.job()
    told = speaker.told(job_, items=items("a", "b"), done=True, result={"pages": 3})
    assert (told["done"], told["state"], told["done_reason"]) == (True, "succeeded", reason)
    assert (ended(job_["job_id"]).done_reason, ended(job_["job_id"]).result) == (reason, {"pages": 3})


@pytest.mark.spec("S1.R5")
def test_done_goes_before_an_error_and_clears_the_last_one(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        scrape.enqueue()
        speaker.told(speaker.job(), error="no answer")
    with at(100):
        lost_time()
        job_ = speaker.job()
        told = speaker.told(job_, done=True, error="too late to say")
    assert (told["state"], ended(job_["job_id"]).error) == ("succeeded", "")


@pytest.mark.spec("S1.13")
def test_a_key_is_stored_once_with_its_newest_data(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    speaker.told(job_, items=[{"key": "a", "data": 1}, {"key": "a", "data": 2}])
    told = speaker.told(job_, items=[{"key": "a", "data": {"phone": "7"}}, {"key": "b"}])
    assert (told["added"], told["duplicates"]) == (1, 1)
    assert dict(JobItem.objects.values_list("key", "data")) == {"a": {"phone": "7"}, "b": {}}


def test_a_sink_takes_the_items_in_the_transaction_of_the_report(speaker: Speaker) -> None:
    taken: list[tuple[UUID, dict[str, Any]]] = []

    def keep(run_id: UUID, found: dict[str, Any]) -> int:
        taken.append((run_id, found))
        if "bad" in found:
            raise ValueError("not a lead")
        return 1

    @job(queue="leads", remote=True, sink=keep)
    def scrape() -> None: ...

    run = scrape.enqueue()
    job_ = speaker.job()
    told = speaker.told(job_, items=items("a", "b"), cursor="2")
    assert (told["added"], told["duplicates"]) == (1, 1)
    assert taken == [(run.id, {"a": {"name": "a"}, "b": {"name": "b"}})]
    assert not JobItem.objects.exists()
    before = tables()
    with pytest.raises(ValueError, match="not a lead"):
        speaker.report(job_, items=items("bad"), cursor="3")
    assert tables() == before


@pytest.mark.spec("S1.5", "S1.17", "S1.18", "S1.21", "S1.22", "S1.23", "S1.24", "A1.2")
def test_a_job_that_always_fails_waits_longer_each_time_and_fails_at_the_fifth(speaker: Speaker, scrape: Any) -> None:
    now, waits = 0.0, []
    run = scrape.enqueue()
    Job.objects.filter(pk=run.id).update(run_at=T)
    for number in range(1, 6):
        with at(now - 0.1):
            lost_time()
            assert speaker.pull()["job"] is None
        with at(now):
            lost_time()
            job_ = speaker.job()
            told = speaker.told(job_, error=f"no answer {number}", error_class="TimeoutError", log="line 1\nline 2")
        assert (job_["attempt"], told["done"]) == (number, True)
        if number < 5:
            row = stored(job_["job_id"])
            assert (told["state"], row.last_error) == ("queued", f"no answer {number}")
            waits.append((row.run_at - T).total_seconds() - now)
            now += waits[-1]
    assert all(low <= wait <= 1.2 * low for wait, low in zip(waits, (60, 120, 240, 480), strict=True))
    assert (told["state"], told["done_reason"]) == ("failed", "exhausted")
    tried = attempts_of(run.id)
    assert [(each.outcome, each.success, each.error_class) for each in tried] == [("error", False, "TimeoutError")] * 5
    assert {(each.log_excerpt, each.traceback) for each in tried} == {("line 1\nline 2", "")}
    with at(now + 1e6):
        lost_time()
        assert speaker.pull()["job"] is None


@pytest.mark.parametrize(
    ("said", "state", "reason"),
    [
        ({"permanent": True}, "failed", "permanent"),
        ({"retry_after_sec": 7}, "queued", ""),
    ],
)
def test_a_worker_may_say_what_an_error_leads_to(
    speaker: Speaker, scrape: Any, said: dict[str, Any], state: str, reason: str
) -> None:
    with at(0):
        run = scrape.enqueue()
        told = speaker.told(speaker.job(), error="gone", **said)
    assert (told["state"], told["done_reason"]) == (state, reason)
    if state == "queued":
        assert stored(str(run.id)).run_at == T + timedelta(seconds=7)


def test_one_whose_place_in_the_queue_is_taken_is_told_how_it_really_ended(speaker: Speaker) -> None:
    @job(queue="leads", remote=True, policy="short", key="city")
    def scrape(city: str) -> None: ...

    scrape.enqueue(city="Kiel")
    job_ = speaker.job()
    scrape.enqueue(city="Kiel")
    told = speaker.told(job_, error="no answer")
    assert (told["state"], told["done_reason"]) == ("cancelled", "superseded")


def test_a_job_that_was_asked_to_stop_hears_it_and_ends_cancelled(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    job_ = speaker.job()
    control.cancel(run.id, "ann")
    assert speaker.told(job_, cursor="2")["cancel_requested"] is True
    told = speaker.told(job_, error="stopped as asked")
    assert (told["state"], told["done_reason"]) == ("cancelled", "cancelled")


def test_a_job_that_is_given_back_is_due_at_once_and_spends_no_attempt(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    assert speaker.told(job_, release=True, cursor="4")["state"] == "queued"
    again = speaker.job("other")
    assert (again["job_id"], again["attempt"], again["cursor"]) == (job_["job_id"], 1, "4")
    assert outcomes_of(UUID(job_["job_id"])) == ["interrupted"]
    assert speaker.report(job_, done=True).status_code == 409


def test_what_is_done_long_after_its_deadline_is_a_timeout(speaker: Speaker) -> None:
    @job(queue="leads", remote=True, timeout=60)
    def scrape() -> None: ...

    with at(0):
        scrape.enqueue()
        job_ = speaker.job()
        assert job_["timeout_sec"] == 60
    with at(70):
        told = speaker.told(job_, done=True)
    assert (told["state"], told["done_reason"]) == ("failed", "timeout")


def test_a_heartbeat_is_no_progress(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    speaker.told(job_)
    assert stored(job_["job_id"]).last_progress_at is None
    speaker.told(job_, message="page 2 of 9", target_count=9)
    row = stored(job_["job_id"])
    assert (row.progress_message, row.target_count, row.last_progress_at is None) == ("page 2 of 9", 9, False)
