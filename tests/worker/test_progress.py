"""Progress on its way to the rows, from two writers."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.worker import progress as progress_module
from jobs_app.worker.progress import save_words
from tests.worker.flights import flight_of


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The counts that each statement wrote."""
    found: list[list[int]] = []
    monkeypatch.setattr(
        progress_module, "save_progress", lambda _, words: found.append([one.progress_count for one in words])
    )
    return found


def test_words_are_written_once_and_all_together(written: list[list[int]]) -> None:
    sample = job(name="sample")(lambda: None)
    flights = [flight_of(sample) for _ in range(3)]
    save_words(connection, flights)
    flights[0].context.progress(1)
    flights[2].context.progress(3)
    save_words(connection, flights)
    save_words(connection, flights)
    assert written == [[1, 3]]


def test_an_older_word_is_never_written_after_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    flight = flight_of(job(name="sample")(lambda: None))
    slow, order = threading.Event(), []

    def save(_: Any, words: Sequence[Progress]) -> None:
        if words and words[0].progress_count == 1:
            slow.set()
            time.sleep(0.1)
        order.extend(one.progress_count for one in words)

    monkeypatch.setattr(progress_module, "save_progress", save)
    flight.context.progress(1)
    heartbeat = threading.Thread(target=save_words, args=(connection, [flight]))
    heartbeat.start()
    slow.wait(10)
    flight.context.progress(2)
    save_words(connection, [flight])
    heartbeat.join()
    save_words(connection, [flight])
    assert order == [1, 2]


def test_a_writer_that_hangs_does_not_keep_the_other_for_long(
    written: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "WAIT_SECONDS", 0.05)
    flight = flight_of(job(name="sample")(lambda: None))
    flight.context.progress(1)
    with progress_module._writing:
        save_words(connection, [flight])
    assert written == [[1]]
