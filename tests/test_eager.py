"""`EAGER`: what is enqueued runs in this process when it is committed, and is recorded as by a worker."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db import transaction

from jobs_app import current_job, eager, job, trigger
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.signals import job_enqueued

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def is_eager(settings: Any) -> Iterator[None]:
    settings.JOBS = {"EAGER": True}
    yield
    settings.JOBS = {}
    assert not job_enqueued.receivers


@pytest.fixture
def greet() -> Any:
    @job
    def greet(name: str) -> str:
        Group.objects.create(name=name)
        return f"hello {name}"

    return greet


def test_an_enqueue_runs_its_job_and_knows_how_it_ended(greet: Any) -> None:
    run = greet.enqueue(name="Ada")

    assert (run.status, run.result, run.attempts) == ("succeeded", "hello Ada", 1)
    assert JobAttempt.objects.get(job_id=run.id).outcome == "success"
    assert trigger("greet", {"name": "Grace"}).status == "succeeded"
    assert [one.result for one in greet.enqueue_many([{"name": "Joan"}, {"name": "Mary"}])] == [
        "hello Joan",
        "hello Mary",
    ]
    assert Group.objects.count() == 4


def test_in_a_transaction_it_runs_at_the_commit(greet: Any) -> None:
    with transaction.atomic():
        run = greet.enqueue(name="Ada")
        assert run.refresh().status == "queued"
        assert not Group.objects.exists()

    assert run.status == "succeeded"
    assert Group.objects.get().name == "Ada"


def test_what_is_rolled_back_never_ran(greet: Any) -> None:
    with transaction.atomic():
        greet.enqueue(name="Ada")
        transaction.set_rollback(True)

    assert not Group.objects.exists()
    assert not JobRun.objects.exists()


def test_an_error_is_recorded_and_logged_and_not_the_callers(caplog: pytest.LogCaptureFixture) -> None:
    @job
    def stumble() -> None:
        raise LookupError("a stone")

    run = stumble.enqueue()

    assert (run.status, run.error) == ("retrying", "a stone")
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


def test_what_is_due_later_waits(greet: Any) -> None:
    assert greet.options(delay="1h").enqueue(name="Ada").refresh().status == "scheduled"
    assert not Group.objects.exists()


def test_an_older_job_is_left_alone(greet: Any, settings: Any) -> None:
    settings.JOBS = {"EAGER": False}
    old = greet.enqueue(name="old")
    settings.JOBS = {"EAGER": True}
    greet.enqueue(name="new")

    assert old.refresh().status == "queued"
    assert Group.objects.get().name == "new"


def test_jobs_that_jobs_enqueue_run_one_after_another() -> None:
    ran: list[str] = []

    @job
    def second() -> None:
        ran.append(f"{current_job().job_type} begins")

    @job
    def first() -> None:
        ran.append("first begins")
        second.enqueue()
        ran.append("first ends")

    first.enqueue()

    assert ran == ["first begins", "first ends", "second begins"]


def test_a_long_chain_does_not_pile_up_and_an_endless_one_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(eager, "MOST_AT_ONCE", 300)  # far more than frames fit on a stack, nested

    @job
    def crawl(page: int = 0) -> None:
        crawl.enqueue(page=page + 1)

    crawl.enqueue()

    assert JobRun.objects.count() == 300
    assert Job.objects.get().payload == {"page": 300}
    assert "the others wait for a worker" in caplog.text


def test_async_code_and_async_handlers() -> None:
    @job
    async def write(name: str) -> str:
        return (await Group.objects.acreate(name=name)).name

    run = async_to_sync(write.aenqueue)(name="Ada")

    assert run.result == "Ada"


def test_an_interrupt_reaches_the_caller() -> None:
    @job
    def long() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        long.enqueue()
    assert JobAttempt.objects.get().outcome == "error"


@pytest.mark.django_db(transaction=False)
def test_in_a_tests_transaction_it_runs_with_the_captured_callbacks(
    greet: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = greet.enqueue(name="Ada")
        assert run.status == "queued"

    assert run.status == "succeeded"


def test_the_fact_of_an_enqueue_is_told_once_it_is_committed(greet: Any, settings: Any) -> None:
    settings.JOBS = {}
    heard: list[str] = []

    def hear(sender: Any, run: Any, **kwargs: Any) -> None:
        heard.append(f"{sender.name} {run.payload['name']}")

    job_enqueued.connect(hear)
    try:
        with transaction.atomic():
            greet.enqueue(name="Ada")
            assert heard == []
        assert heard == ["greet Ada"]
        first = greet.options(idempotency_key="k").enqueue(name="Joan")
        again = greet.options(idempotency_key="k").enqueue(name="Joan")
        assert (again.id, again.created) == (first.id, False)
        assert heard == ["greet Ada", "greet Joan"]
    finally:
        job_enqueued.disconnect(hear)
