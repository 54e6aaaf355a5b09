"""Run handles: what is known without asking, what a reading tells, and waiting for an end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from jobs_app import get_run, job
from jobs_app.errors import NotPossible, RunNotFound, WaitTimeout
from jobs_app.handles import Progress, RunHandle
from jobs_app.models import ControlEvent, Job, JobRun
from tests.by_hand import HandWorker

Assert = Callable[[int], Any]


@pytest.fixture
def report() -> Any:
    @job(preset="transient")
    def report(account: str = "main") -> None: ...

    return report


def change(run: RunHandle, **columns: Any) -> None:
    Job.objects.filter(pk=run.id).update(**columns)


def end(run: RunHandle, **columns: Any) -> None:
    """Move a job to the history, as the end of its last attempt does."""
    live = Job.objects.get(pk=run.id)
    shared = {field.name for field in JobRun._meta.fields} & {field.name for field in Job._meta.fields}
    kept = {name: getattr(live, name) for name in shared}
    JobRun.objects.create(**{**kept, "state": "succeeded", "finished_at": live.queued_at, **columns})
    live.delete()


@pytest.mark.django_db
def test_a_run_is_read_by_its_id(report: Any, django_assert_num_queries: Assert) -> None:
    run = report.enqueue(account="north")
    with django_assert_num_queries(1):
        found = get_run(run.id)
        assert (found.id, found.job_type, found.payload) == (run.id, "report", {"account": "north"})
        assert (found.status, found.queued_at, found.run_at) == ("queued", run.queued_at, run.run_at)
    assert get_run(str(run.id)).id == run.id


@pytest.mark.django_db
@pytest.mark.parametrize("run_id", [UUID(int=7), "not an id", "", None, 7])
def test_an_id_of_no_run_is_not_found(run_id: Any) -> None:
    with pytest.raises(RunNotFound, match=r"no run has the id|is not the id of a run"):
        get_run(run_id)


@pytest.mark.django_db
def test_a_handle_keeps_its_values_until_it_is_refreshed(report: Any, django_assert_num_queries: Assert) -> None:
    run = report.enqueue()
    change(run, attempts=1, last_error="timed out")
    assert (run.status, run.attempts, run.error) == ("queued", 0, "")
    with django_assert_num_queries(1):
        assert run.refresh() is run
    assert (run.status, run.attempts, run.error) == ("retrying", 1, "timed out")


@pytest.mark.django_db
def test_async_code_refreshes_too(report: Any) -> None:
    run = report.enqueue()
    change(run, attempts=2)
    assert async_to_sync(run.arefresh)() is run
    assert run.attempts == 2


@pytest.mark.django_db
@pytest.mark.spec("S2.7")
def test_status_is_our_word_and_label_the_word_of_the_preset(report: Any) -> None:
    run = report.enqueue()
    assert (run.status, run.label) == ("queued", "PENDING")
    later = report.options(delay="1h").enqueue()
    assert (later.status, later.label) == ("scheduled", "PENDING")
    change(run, attempts=1)
    assert (run.refresh().status, run.label) == ("retrying", "RUNNING")
    end(run, state="succeeded")
    assert (run.refresh().status, run.label) == ("succeeded", "COMPLETED")


@pytest.mark.django_db
def test_the_label_without_a_preset_is_the_status() -> None:
    @job
    def plain() -> None: ...

    assert plain.enqueue().label == "queued"


@pytest.mark.django_db
@pytest.mark.spec("S2.6", "S2.12", "S2.33")
def test_a_finished_run_tells_its_whole_story(report: Any) -> None:
    run = report.enqueue(account="north")
    queued_at = run.queued_at
    assert (run.wait_seconds, run.is_finished) == (None, False)
    end(
        run,
        state="succeeded",
        attempts=3,
        worker_id="host-1-abc",
        result={"pages": 3},
        first_started_at=queued_at + timedelta(seconds=2),
        started_at=queued_at + timedelta(seconds=60),
        finished_at=queued_at + timedelta(seconds=61),
    )
    run.refresh()
    assert (run.status, run.is_finished, run.result) == ("succeeded", True, {"pages": 3})
    assert (run.attempts, run.retry_count, run.wait_seconds) == (3, 2, 2)
    assert (run.worker_id, run.payload) == ("host-1-abc", {"account": "north"})
    assert run.started_at == queued_at + timedelta(seconds=60)
    assert run.finished_at == queued_at + timedelta(seconds=61)


@pytest.mark.django_db
def test_a_failed_run_tells_why(report: Any) -> None:
    run = report.enqueue()
    end(run, state="failed", attempts=4, error="ConnectionError: reset")
    assert (run.refresh().status, run.label, run.error) == ("failed", "FAILED", "ConnectionError: reset")


@pytest.mark.django_db
def test_progress_is_what_the_handler_last_said(report: Any) -> None:
    run = report.enqueue()
    assert run.progress == Progress()
    change(
        run, progress_count=3, target_count=10, cursor="p3", progress_message="third", last_progress_at=run.queued_at
    )
    expected = Progress(count=3, total=10, cursor="p3", message="third", at=run.queued_at)
    assert run.refresh().progress == expected


@pytest.mark.django_db
def test_progress_towards_a_target_is_in_new_results() -> None:
    @job(remote=True, target="wanted")
    def find(wanted: int) -> None: ...

    run = find.enqueue(wanted=30)
    change(run, progress_count=34, result_count=28, target_count=30)
    assert (run.refresh().progress.count, run.progress.total) == (28, 30)


@pytest.mark.django_db
def test_wait_reads_until_the_run_has_ended(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = report.enqueue()
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            end(run)

    monkeypatch.setattr("jobs_app.handles.time.sleep", nap)
    assert run.wait(timedelta(minutes=1), poll=0.5).status == "succeeded"
    assert naps == [0.5, 0.5, 0.5]


@pytest.mark.django_db(transaction=True)
def test_wait_ends_with_advice_at_its_timeout(report: Any) -> None:
    run = report.enqueue()
    with pytest.raises(WaitTimeout, match=rf"run {run.id} of report is queued after 0 s\. Is a worker running"):
        run.wait(0)
    change(run, attempts=1)
    with pytest.raises(WaitTimeout, match=r"is retrying after 0 s\. It goes on"):
        run.wait(0)


@pytest.mark.django_db
def test_wait_inside_the_transaction_of_the_enqueue_says_why_it_cannot_end(report: Any) -> None:
    with pytest.raises(WaitTimeout, match="only when the transaction around this call commits"):
        report.enqueue().wait(0)


@pytest.mark.django_db
def test_an_idempotency_key_gives_the_run_also_after_it_finished(report: Any) -> None:
    once = report.options(idempotency_key="order-7")
    run = once.enqueue()
    end(run, state="succeeded", result=42)
    again = once.enqueue()
    assert (again.id, again.created, again.status, again.result) == (run.id, False, "succeeded", 42)
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_handle_shows_what_it_is(report: Any, django_assert_num_queries: Assert) -> None:
    run = report.enqueue()
    with django_assert_num_queries(0):
        assert repr(run) == f"<RunHandle {run.id} report queued>"
        assert repr(RunHandle(run.id)) == f"<RunHandle {run.id}>"


@pytest.mark.django_db(transaction=True)
def test_async_code_waits_too(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = report.enqueue()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            await sync_to_async(end)(run)

    monkeypatch.setattr("jobs_app.handles.asyncio.sleep", pause)
    assert async_to_sync(run.await_finished)(60, poll=0.5).status == "succeeded"
    assert pauses == [0.5, 0.5]
    with pytest.raises(WaitTimeout, match="Is a worker running"):
        async_to_sync(report.enqueue().await_finished)(0)


@pytest.mark.django_db
def test_a_run_is_cancelled_by_its_handle(report: Any) -> None:
    run = report.enqueue()
    assert run.cancel("ann", "not needed")
    assert (run.refresh().status, run.error) == ("cancelled", "not needed")
    assert run.cancel().skipped == {run.id: "has already been cancelled"}
    event = ControlEvent.objects.order_by("pk")[0]
    assert (event.actor, event.action, event.target, event.reason) == ("ann", "cancel", str(run.id), "not needed")


@pytest.mark.django_db
@pytest.mark.parametrize(("verb", "by_force"), [("cancel", False), ("abort", True)])
def test_a_run_that_runs_is_asked_to_stop_by_its_handle(report: Any, verb: str, by_force: bool) -> None:
    run = report.enqueue()
    HandWorker().claim()
    assert getattr(run, verb)().asked == [run.id]
    row = Job.objects.get()
    assert (row.cancel_requested, row.abort_requested) == (True, by_force)


@pytest.mark.django_db
def test_retry_gives_the_run_itself_where_it_waits_and_a_new_one_where_it_has_ended(report: Any) -> None:
    run = report.options(delay="1h").enqueue(account="north")
    assert run.retry() is run
    assert run.status == "queued"
    run.cancel()
    again = run.retry("ann", payload={"account": "south"})
    assert (again.id != run.id, again.status, again.payload) == (True, "queued", {"account": "south"})
    assert Job.objects.get().parent == run.id


@pytest.mark.django_db
def test_retry_of_a_run_that_cannot_be_says_why(report: Any) -> None:
    run = report.enqueue()
    with pytest.raises(NotPossible, match=f"run {run.id} cannot be retried: it is due already"):
        run.retry()
    [job] = HandWorker().claim()
    with pytest.raises(NotPossible, match="it runs on worker"):
        run.retry()
    assert job.id == run.id


@pytest.mark.django_db
def test_async_code_stops_and_retries_too(report: Any) -> None:
    run = report.enqueue()
    assert async_to_sync(run.acancel)("ann").moved == [run.id]
    again = async_to_sync(run.aretry)("ann")
    assert again.status == "queued"
    assert async_to_sync(again.aabort)().moved == [again.id]
