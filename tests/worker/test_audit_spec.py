"""What is known of a run while it waits, while it runs and after: one record under one id, written by workers alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import Backoff, current_job, get_run, job, trigger
from jobs_app.conf import Settings
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobAttempt, JobRun, Run
from jobs_app.registry import registry
from jobs_app.signals import job_finished, job_started
from tests.by_hand import HandWorker, live
from tests.waiting import until
from tests.worker.harness import finished, working

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.spec("S2.9", "S2.13")
@pytest.mark.parametrize("way", ["enqueue", "enqueue_many", "trigger"])
def test_every_job_is_a_run_from_the_enqueue_on_whichever_way_it_came(way: str) -> None:
    @job
    def note(text: str) -> None: ...

    if way == "enqueue_many":
        (run,) = note.enqueue_many([{"text": "x"}])
    else:
        run = note.enqueue(text="x") if way == "enqueue" else trigger("note", {"text": "x"})
    assert [found.state for found in Run.objects.all()] == ["queued"]
    assert HandWorker().work() is not None
    assert [(found.pk, found.state) for found in Run.objects.all()] == [(run.id, "succeeded")]


@pytest.mark.django_db
@pytest.mark.spec("S1.1", "S2.10", "S3.2")
def test_a_run_is_running_with_start_and_worker_before_its_handler_is_called_and_ended_after() -> None:
    seen: list[Any] = []

    @job(preset="lease")
    def look() -> None:
        seen.append(get_run(current_job().id))

    with frozen_clock(NOW):
        run = look.enqueue()
        assert (run.label, run.started_at, run.worker_id) == ("queued", None, "")
    worker = HandWorker()
    with frozen_clock(NOW + timedelta(seconds=5)):
        worker.work()
    (during,) = seen
    assert (during.status, during.label, during.worker_id) == ("running", "processing", worker.id)
    assert (during.started_at, during.finished_at) == (NOW + timedelta(seconds=5), None)
    assert (run.refresh().label, run.wait_seconds, run.finished_at) == ("done", 5, NOW + timedelta(seconds=5))
    assert JobRun.objects.get(pk=run.id).done_reason == "worker_done"


@pytest.mark.django_db
@pytest.mark.spec("S1.22", "S1.23", "S2.27")
def test_each_attempt_leaves_a_row_with_worker_times_outcome_and_log() -> None:
    ends = iter([RuntimeError("no"), None])

    @job(preset="payments")
    def charge() -> None:
        current_job().log(f"try {current_job().attempt}")
        if error := next(ends):
            raise error

    with frozen_clock(NOW):
        run = charge.enqueue()
    workers = [HandWorker(), HandWorker()]
    for worker, minute in zip(workers, (0, 1), strict=True):
        with frozen_clock(NOW + timedelta(minutes=minute)):
            worker.work()
    first, second = JobAttempt.objects.filter(job_id=run.id).order_by("number")
    assert (first.number, first.worker_id, first.success, first.log_excerpt) == (1, workers[0].id, False, "try 1")
    assert (first.started_at, first.error_class, first.message) == (NOW, "RuntimeError", "no")
    assert "RuntimeError: no" in first.traceback
    assert (second.number, second.worker_id, second.success, second.log_excerpt) == (2, workers[1].id, True, "try 2")
    assert (second.started_at, second.finished_at) == (NOW + timedelta(minutes=1), NOW + timedelta(minutes=1))


@pytest.mark.django_db
@pytest.mark.spec("S2.1")
def test_options_are_read_from_code_when_they_are_used() -> None:
    def fail() -> None:
        raise RuntimeError("no")

    job(name="sync", backoff=Backoff(base=10, factor=1, jitter="none"))(fail)
    with frozen_clock(NOW):
        run = trigger("sync")
        job(name="sync", backoff=Backoff(base=100, factor=1, jitter="none"))(fail)
        HandWorker().work()
    assert run.refresh().run_at == NOW + timedelta(seconds=100)
    stored = {field.name for field in (*Job._meta.concrete_fields, *JobRun._meta.concrete_fields)}
    assert stored & {"backoff", "timeout", "retry_on", "concurrency", "rate", "enabled", "label"} == set()


@pytest.mark.django_db
@pytest.mark.spec("S1.6")
def test_a_job_keeps_the_limit_it_was_enqueued_with(settings: Any) -> None:
    def fail() -> None:
        raise RuntimeError("no")

    settings.JOBS = {"MAX_ATTEMPTS": 2}
    by_setting = job(name="by-setting")(fail)
    by_preset = job(name="by-preset", preset="lease")(fail)
    by_type = job(name="by-type", preset="lease", max_attempts=3)(fail)
    with frozen_clock(NOW):
        runs = [each.enqueue() for each in (by_setting, by_preset, by_type)]
        runs.append(by_type.options(max_attempts=1).enqueue())
    settings.JOBS = {"MAX_ATTEMPTS": 9}
    assert [Job.objects.get(pk=run.id).max_attempts for run in runs] == [2, 5, 3, 1]
    registry.unregister("by-preset")
    registry.unregister("by-type")
    assert len(live(runs[0], NOW)) == 2


@pytest.mark.django_db
@pytest.mark.spec("S2.6", "S4.13")
def test_a_run_has_room_for_long_names_and_an_index_by_type_and_time() -> None:
    lengths = [JobRun._meta.get_field(name).max_length for name in ("job_type", "subject", "worker_id")]
    assert lengths == [120, 200, 100]
    assert Run._meta.get_field("finished_at").null
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, JobRun._meta.db_table).values()
    assert [["job_type", "queued_at", "id"], ["ASC", "ASC", "ASC"]] in [
        [one["columns"], one.get("orders")] for one in found
    ]


@pytest.mark.django_db
@pytest.mark.spec("S2.33")
def test_the_same_work_can_be_triggered_again_from_what_a_run_kept() -> None:
    done = []

    @job
    def greet(name: str, times: int = 1) -> None:
        done.append((name, times))

    first = greet.enqueue(name="Ada", times=2)
    HandWorker().work()
    again = trigger(get_run(first.id).job_type, get_run(first.id).payload, parent=first.id)
    HandWorker().work()
    assert done == [("Ada", 2), ("Ada", 2)]
    assert JobRun.objects.get(pk=again.id).parent == first.id


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S1.4", "S3.1")
def test_progress_cost_and_log_are_kept_with_the_run_under_its_one_id() -> None:
    @job
    def review(document: str) -> dict[str, str]:
        context = current_job()
        context.progress(3, 10, cursor="page 3", message="reading", results=2)
        context.save_meta(cost=0.25)
        context.log("thinking")
        return {"grade": "B"}

    with working():
        run = review.enqueue(document="d-1")
        assert finished(run) == ["succeeded"]
    stored = JobRun.objects.get(pk=run.id)
    assert (stored.cursor, stored.progress_count, stored.result_count, stored.target_count) == ("page 3", 3, 2, 10)
    assert stored.queued_at <= stored.last_progress_at <= stored.finished_at + timedelta(seconds=1)
    assert (stored.meta, stored.result, run.progress.count) == ({"cost": 0.25}, {"grade": "B"}, 3)
    assert JobAttempt.objects.get(job_id=run.id).log_excerpt == "thinking"
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S2.2")
def test_the_queue_gives_priority_retries_facts_about_each_job_and_word_of_start_and_end() -> None:
    calls: list[tuple[str, int, datetime]] = []
    told: list[tuple[str, str]] = []

    def on_start(*, job: Any, **kwargs: Any) -> None:
        told.append(("started", job.job_type))

    def on_end(*, job: Any, ended: Any, **kwargs: Any) -> None:
        told.append((ended.state, job.job_type))

    @job(name="low", priority=-5)
    def low() -> None:
        calls.append(("low", current_job().attempt, current_job().queued_at))

    @job(name="high", priority=5, backoff=Backoff(base=0.01, factor=1, jitter="none"))
    def high() -> None:
        calls.append(("high", current_job().attempt, current_job().queued_at))
        if current_job().attempt == 1:
            raise ConnectionError

    runs = [low.enqueue(), high.enqueue()]
    job_started.connect(on_start)
    job_finished.connect(on_end)
    try:
        with working(concurrency=1, listen=False):
            finished(*runs)
    finally:
        job_started.disconnect(on_start)
        job_finished.disconnect(on_end)
    assert calls[0] == ("high", 1, runs[1].queued_at)
    assert sorted(calls[1:]) == [("high", 2, runs[1].queued_at), ("low", 1, runs[0].queued_at)]
    of_high = [word for word, name in told if name == "high"]
    assert sorted(of_high) == ["queued", "started", "started", "succeeded"]
    assert {word for word, name in told if name == "low"} == {"started", "succeeded"}
    assert [(run.status, run.attempts) for run in runs] == [("succeeded", 1), ("succeeded", 2)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S0.32")
def test_an_idle_worker_that_hears_nothing_finds_a_new_job_at_its_next_look() -> None:
    @job
    def note() -> None: ...

    assert Settings().worker_poll_seconds == 0.5
    with working(listen=False, poll=0.05) as worker:
        until(lambda: worker.claimer.empty_at > 0, every=0.01)
        assert finished(note.enqueue()) == ["succeeded"]
