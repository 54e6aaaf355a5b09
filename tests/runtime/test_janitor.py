"""The janitor: chores now and then, by one process of all, that stop when asked and leave nothing open."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from jobs_app.lifecycle import prune as prune_module
from jobs_app.models import JobRun, RateLimit
from jobs_app.runtime import janitor as janitor_module
from jobs_app.runtime import loops
from jobs_app.runtime.janitor import Janitor, forget_old_rates, prune_all, prune_recent
from tests.lifecycle.history import days_ago, finished, left, nothing_is_half
from tests.lifecycle.rows import T, at
from tests.waiting import until
from tests.worker.harness import working

pytestmark = pytest.mark.django_db(transaction=True)


def always() -> bool:
    return True


def never() -> bool:
    return False


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune_module, "FIRST_SIZE", 2)
    monkeypatch.setattr(prune_module, "next_size", lambda size, seconds: size)


@contextmanager
def running(janitor: Janitor) -> Iterator[None]:
    janitor.start()
    try:
        yield
    finally:
        janitor.stop()
        janitor.join(30)
        assert not janitor.is_alive()


def test_old_runs_go_and_it_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        finished(31, attempts=2, items=1)
    with at(0), caplog.at_level(logging.INFO, "jobs_app.runtime"):
        assert prune_recent(connection, always) is False
    assert left() == set()
    assert [record.getMessage() for record in caplog.records] == [
        "pruned history: 3 runs, 6 attempts, 3 items, 0 control events, 0 samples"
    ]


def test_nothing_to_prune_is_not_worth_a_word(caplog: pytest.LogCaptureFixture) -> None:
    finished(29)
    with at(0), caplog.at_level(logging.DEBUG, "jobs_app"):
        assert not prune_recent(connection, always)
        assert not prune_all(connection, always)
    assert caplog.records == []


def test_it_prunes_every_ten_minutes_whoever_does_it(settings: Any) -> None:
    def prunes(seconds: float) -> bool:
        run = finished(31)
        with at(seconds):
            prune_recent(connection, always)
        return run not in left()

    assert [prunes(seconds) for seconds in (0, 1, 599, 600)] == [True, False, False, True]
    settings.JOBS = {"PRUNE_EVERY_SECONDS": 5}
    assert [prunes(seconds) for seconds in (1200, 1204, 1205)] == [True, False, True]


def test_often_what_became_old_lately_and_once_a_day_the_rest() -> None:
    """A run that failed stays longer than those around it; one that waited for long ends long after they did."""
    failed = finished(91, "failed")
    waited = finished(31, queued_at=days_ago(60))
    lately = finished(31)
    with at(0):
        prune_recent(connection, always)
        assert left() == {failed, waited}
        prune_all(connection, always)
        assert left() == set()
    late = finished(200)
    for seconds, stays in ((86_399, True), (86_400, False)):
        with at(seconds):
            prune_all(connection, always)
        assert (late in left()) is stays
    assert lately not in left()


def test_a_stop_is_obeyed_between_batches_and_the_next_process_goes_on(
    small_batches: None, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        finished(31)
    with at(0), caplog.at_level(logging.INFO, "jobs_app.runtime"):
        assert prune_recent(connection, never) is True
        assert len(left()) == 3
        assert nothing_is_half()
        assert prune_recent(connection, always) is False
    assert left() == set()
    assert [record.getMessage().endswith("; there is more") for record in caplog.records] == [True, False]


def test_a_turn_ends_before_somebody_else_may_take_it(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        finished(31)
    moments = iter(range(0, 10_000, 200))
    monkeypatch.setattr(janitor_module.time, "monotonic", lambda: next(moments))
    with at(0):
        assert prune_recent(connection, always) is True
        assert 0 < len(left()) < 5


def test_while_another_prunes_it_does_not_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(janitor_module, "prune", lambda *args, **options: prune_module.Pruned(complete=False))
    with at(0):
        assert prune_recent(connection, always) is False
        assert prune_recent(connection, always) is False


def test_between_its_rounds_it_has_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    answers = [True, False]

    def chore(own: Any, go_on: Any) -> bool:
        with own.cursor() as cursor:
            cursor.execute("SELECT 1")
        seen.append("works")
        return answers.pop(0)

    janitor = Janitor([chore])
    monkeypatch.setattr(janitor, "pause", lambda seconds: seen.append((seconds, janitor.connection.connection)))
    monkeypatch.setattr(janitor, "is_done", lambda: not answers)
    janitor.start()
    janitor.join(30)
    assert seen == ["works", "works", (60.0, None)]


def test_a_chore_that_fails_does_not_keep_the_others_from_being_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loops, "FIRST_BACKOFF_SECONDS", 0.001)
    done: list[int] = []

    def broken(own: Any, go_on: Any) -> bool:
        raise OperationalError("no")

    def sound(own: Any, go_on: Any) -> bool:
        done.append(1)
        return False

    with caplog.at_level(logging.WARNING, "jobs_app"), running(Janitor([broken, sound])):
        until(lambda: len(done) >= 3, every=0.01)
    assert "jobs-janitor: the database does not answer (no)" in caplog.text


def test_a_stop_ends_a_long_chore_soon() -> None:
    asked: list[bool] = []

    def endless(own: Any, go_on: Any) -> bool:
        while go_on():
            asked.append(True)
        return True

    with running(Janitor([endless])):
        until(lambda: asked, every=0.01)


def test_a_worker_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.worker.loop.FIRST_CHORES_SECONDS", 0.1)
    old = finished(400)
    with working():
        until(lambda: old not in left(), every=0.02)
    assert not JobRun.objects.exists()


def test_it_begins_later_than_the_work_and_a_stop_does_not_wait_for_it() -> None:
    begun: list[int] = []
    janitor = Janitor([lambda own, go_on: bool(begun.append(1))], first_after=3600)
    janitor.start()
    janitor.stop()
    janitor.join(30)
    assert not janitor.is_alive()
    assert begun == []


def test_rates_that_started_nothing_for_a_day_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.lifecycle.rates.ROWS_PER_STATEMENT", 2)
    with at(0):
        for hours in (-25, -26, -27, -23, 1):
            RateLimit.objects.create(scope="type x", key=str(hours), next_free_at=T + timedelta(hours=hours))
        assert not forget_old_rates(connection, always)
    assert set(RateLimit.objects.filter(scope="type x").values_list("key", flat=True)) == {"-23", "1"}
