"""Hearing about new work sooner than the next poll."""

from __future__ import annotations

import logging
import time

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.wakeup import CHANNEL
from tests.waiting import until
from tests.worker.harness import finished, working

pytestmark = pytest.mark.django_db(transaction=True)

FAR = {"poll": 60, "recover_every": 60, "listen": True}  # nothing but the word of an enqueue wakes it


@pytest.mark.spec("S4.25")
def test_an_idle_worker_hears_of_an_enqueue() -> None:
    @job
    def work() -> None: ...

    with working(**FAR):
        finished(work.enqueue(), seconds=20)  # it may be found by the first look
        for _ in range(3):
            began = time.monotonic()
            assert finished(work.enqueue(), seconds=20) == ["succeeded"]
            assert time.monotonic() - began < 10


def test_it_hears_of_a_queue_that_it_never_saw() -> None:
    @job
    def work() -> None: ...

    with working(**FAR):
        finished(work.enqueue(), seconds=20)
        assert finished(work.options(queue="new", priority=7).enqueue(), seconds=6) == ["succeeded"]


def test_it_listens_again_after_its_connection_was_cut(is_postgres: bool, caplog: pytest.LogCaptureFixture) -> None:
    if not is_postgres:
        pytest.skip("SQLite has no server that could close a connection")

    @job
    def work() -> None: ...

    def listeners() -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = %s",
                [f"LISTEN {CHANNEL}"],
            )
            return [row[0] for row in cursor.fetchall()]

    with caplog.at_level(logging.WARNING), working(**FAR):
        first = until(listeners, every=0.02)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", first)
        until(lambda: listeners() and listeners() != first, every=0.02)
        assert finished(work.enqueue(), seconds=20) == ["succeeded"]
        until(lambda: "jobs-listener: works again" in caplog.text, every=0.02)
    assert caplog.text.count("jobs-listener: the database does not answer") == 1


def test_a_word_that_makes_no_sense_is_a_reason_to_look() -> None:
    from jobs_app.worker.listener import Listener

    heard: list[object] = []
    listener = Listener(heard.append)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            listener.run_once()  # says LISTEN
            cursor.execute("SELECT pg_notify(%s, 'nonsense')", [CHANNEL])
        listener.run_once()
    assert heard[-1] is None
    connection.close()
