"""Recovery as each process does it: the jobs move, the log tells it, a signal is sent."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle import lost_workers
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import IdempotencyKey
from jobs_app.runtime import recovery
from jobs_app.runtime.recovery import recover_silent
from jobs_app.signals import jobs_recovered, worker_lost
from tests.by_hand import HandWorker

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def told() -> Any:
    heard: list[dict[str, Any]] = []

    def hear(**facts: Any) -> None:
        heard.append(facts)

    jobs_recovered.connect(hear)
    yield heard
    jobs_recovered.disconnect(hear)


def test_jobs_of_a_silent_worker_are_due_again_and_told(caplog: pytest.LogCaptureFixture, told: Any) -> None:
    @job
    def slow() -> None: ...

    with frozen_clock(NOW):
        run = slow.enqueue()
        assert len(HandWorker(lease=30).claim()) == 1
    with frozen_clock(NOW + timedelta(seconds=31)), caplog.at_level(logging.WARNING, "jobs_app.runtime"):
        recover_silent(connection)
        assert run.refresh().status == "retrying"
    assert [record.getMessage() for record in caplog.records] == [
        "recovered jobs of silent workers: 1 due again, 0 failed; 0 expired unstarted"
    ]
    assert [facts["requeued"] for facts in told] == [{run.id}]


def test_switched_off_silent_workers_jobs_wait_for_reconciliation_but_for_the_apps_own(settings: Any) -> None:
    settings.JOBS = {"AUTO_RECOVER": False}

    @job
    def slow() -> None: ...

    @job(name="jobs.own", queue="jobs.system", max_attempts=1)
    def own() -> None: ...

    with frozen_clock(NOW):
        run, chore = slow.enqueue(), own.enqueue()
        late = slow.options(delay=5, expires_at=NOW + timedelta(seconds=10)).enqueue()
        assert len(HandWorker(lease=30).claim(2)) == 2
    with frozen_clock(NOW + timedelta(seconds=31)):
        recover_silent(connection)
    assert [each.refresh().status for each in (run, chore, late)] == ["running", "failed", "failed"]


def test_nothing_to_recover_is_not_worth_a_word(caplog: pytest.LogCaptureFixture, told: Any) -> None:
    with caplog.at_level(logging.DEBUG, "jobs_app"):
        recover_silent(connection)
    assert (caplog.records, told) == ([], [])


def test_expired_keys_are_forgotten_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    @job
    def pay() -> None: ...

    def expired_key() -> bool:
        with frozen_clock(NOW - timedelta(days=8)):
            pay.options(idempotency_key="k").enqueue()
        with frozen_clock(NOW):
            recover_silent(connection)
        return IdempotencyKey.objects.exists()

    monkeypatch.setattr(recovery, "_forgot_at", float("-inf"))
    assert [expired_key(), expired_key()] == [False, True]
    monkeypatch.setattr(recovery, "FORGET_EVERY_SECONDS", 0)
    assert not expired_key()


def test_while_keys_are_left_the_next_round_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [True, False]
    monkeypatch.setattr(recovery, "forget_keys", lambda connection: answers.pop(0))
    monkeypatch.setattr(recovery, "_forgot_at", float("-inf"))
    for _ in range(3):
        recover_silent(connection)
    assert answers == []


def test_a_lost_worker_is_told_once_and_its_jobs_with_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_workers, "_known", set())
    heard: list[Any] = []

    def hear(worker: Any, jobs: Any, **kwargs: Any) -> None:
        heard.append((worker.id, worker.host, jobs))

    @job
    def slow() -> None: ...

    with frozen_clock(NOW):
        worker, run = HandWorker(lease=30), slow.enqueue()
        announce(connection, Presence(id=worker.id, host="box"))
        assert len(worker.claim()) == 1
    worker_lost.connect(hear)
    with frozen_clock(NOW + timedelta(seconds=31)), caplog.at_level(logging.WARNING, "jobs_app.runtime"):
        recover_silent(connection)
        recover_silent(connection)
    assert heard == [(worker.id, "box", {run.id})]
    facts = [vars(record) for record in caplog.records]
    assert [each["event"] for each in facts] == ["worker_lost", "jobs_recovered"]
    assert (facts[0]["lost_worker"], facts[0]["count"], facts[1]["requeued"]) == (worker.id, 1, 1)
