"""The janitor: chores now and then, by one process of all, that stop when asked and leave nothing open."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from jobs_app.models import RateLimit
from jobs_app.runtime import loops
from jobs_app.runtime.janitor import Janitor, forget_old_rates
from tests.lifecycle.rows import T, at
from tests.waiting import until
from tests.worker.harness import working

pytestmark = pytest.mark.django_db(transaction=True)


def always() -> bool:
    return True


@contextmanager
def running(janitor: Janitor) -> Iterator[None]:
    janitor.start()
    try:
        yield
    finally:
        janitor.stop()
        janitor.join(30)
        assert not janitor.is_alive()


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
    RateLimit.objects.create(scope="type x", key="old", next_free_at=T - timedelta(days=1000))
    with working():
        until(lambda: not RateLimit.objects.filter(scope="type x").exists(), every=0.02)


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
