"""Signals tell what is stored; what a receiver does wrong harms nobody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app import job
from jobs_app.lifecycle import lost_workers
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job, JobRun
from jobs_app.runtime.recovery import recover_silent
from jobs_app.signals import Fact, job_enqueued, job_finished, job_started, jobs_recovered, worker_lost
from tests.by_hand import HandWorker
from tests.worker.harness import finished, working

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALL = (job_enqueued, job_started, job_finished, jobs_recovered, worker_lost)

Listen = Callable[[Fact, Callable[..., Any]], None]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Connect a receiver for the length of a test."""
    connected: list[tuple[Fact, Callable[..., Any]]] = []

    def connect(signal: Fact, receiver: Callable[..., Any]) -> None:
        signal.connect(receiver, weak=False)
        connected.append((signal, receiver))

    yield connect
    for signal, receiver in connected:
        signal.disconnect(receiver)


def broken(**facts: Any) -> None:
    raise ValueError("a receiver's own")


def failures(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    lines = [record for record in caplog.records if getattr(record, "event", "") == "receiver_failed"]
    return [(vars(line)["signal"], vars(line)["error"]) for line in lines]


@pytest.mark.django_db(transaction=True)
def test_the_life_of_a_job_is_told_and_broken_receivers_cost_it_nothing(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[tuple[str, Any]] = []

    @job
    def ping() -> None: ...

    listen(job_enqueued, broken)
    listen(job_started, broken)
    listen(job_finished, broken)
    listen(job_enqueued, lambda sender, run, **kwargs: heard.append((sender.name, run.id)))
    listen(job_started, lambda sender, job, **kwargs: heard.append(("started", job.id)))
    listen(job_finished, lambda ended, **kwargs: heard.append((ended.state, JobRun.objects.get(pk=ended.id).pk)))
    run = ping.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert heard == [("ping", run.id), ("started", run.id), ("succeeded", run.id)]
    assert failures(caplog) == [(name, "a receiver's own") for name in ("job_enqueued", "job_started", "job_finished")]


@pytest.mark.django_db(transaction=True)
def test_an_enqueue_is_told_when_it_is_committed_and_never_when_it_is_rolled_back(listen: Listen) -> None:
    heard: list[bool] = []

    @job
    def ping() -> None: ...

    listen(job_enqueued, lambda run, **kwargs: heard.append(Job.objects.filter(pk=run.id).exists()))
    with transaction.atomic():
        ping.enqueue()
        assert heard == []
    assert heard == [True]
    with transaction.atomic():
        ping.enqueue()
        transaction.set_rollback(True)
    assert heard == [True]


@pytest.mark.django_db
def test_recovery_goes_on_whatever_its_receivers_do(
    listen: Listen, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_workers, "_known", set())

    @job
    def slow() -> None: ...

    listen(jobs_recovered, broken)
    listen(worker_lost, broken)
    with frozen_clock(NOW):
        worker, run = HandWorker(lease=30), slow.enqueue()
        announce(connection, Presence(id=worker.id))
        assert len(worker.claim()) == 1
    with frozen_clock(NOW + timedelta(seconds=31)):
        recover_silent(connection)
        assert run.refresh().status == "retrying"
    assert [name for name, _ in failures(caplog)] == ["worker_lost", "jobs_recovered"]


def test_an_async_receiver_inside_an_event_loop_is_told_of_and_raises_nothing(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    signal, heard = Fact("happened"), []

    async def hear(**kwargs: Any) -> None:
        heard.append("here")

    async def tell() -> None:
        signal.tell(None)

    listen(signal, hear)
    signal.tell(None)
    assert heard == ["here"]
    with caplog.at_level(logging.ERROR):
        asyncio.run(tell())
    assert [name for name, _ in failures(caplog)] == ["happened"]


def test_each_signal_knows_its_name() -> None:
    from jobs_app import signals

    assert all(getattr(signals, signal.name) is signal for signal in ALL)
