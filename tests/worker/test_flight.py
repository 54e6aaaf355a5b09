"""The jobs in a worker's hands."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker.flight import UNSTORED_SECONDS, Flight, Hangar
from tests.worker.flights import flight_of


@pytest.fixture
def sample() -> Any:
    return job(name="sample")(lambda: None)


def test_only_the_first_to_end_a_flight_has_the_say(sample: Any) -> None:
    for _ in range(200):
        flight = flight_of(sample)
        said: list[bool] = []
        gate = threading.Barrier(3)

        def end(flight: Flight = flight, gate: threading.Barrier = gate, said: list[bool] = said) -> None:
            gate.wait()
            said.append(flight.end())

        threads = [threading.Thread(target=end) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(said) == [False, False, True]


def test_a_hangar_tells_what_waits_what_runs_and_what_ended(sample: Any) -> None:
    hangar = Hangar()
    waiting, running, ended = (flight_of(sample) for _ in range(3))
    running.started = time.monotonic()
    ended.started = time.monotonic()
    ended.end()
    hangar.add([waiting, running, ended])
    assert len(hangar) == 3
    assert hangar.open() == [waiting, running]
    assert hangar.running() == [running]


def test_a_lease_is_held_until_the_report_is_stored_but_not_for_ever(sample: Any) -> None:
    hangar = Hangar()
    running, ended, stuck = (flight_of(sample) for _ in range(3))
    ended.end()
    stuck.ended_at = time.monotonic() - UNSTORED_SECONDS - 1
    hangar.add([running, ended, stuck])
    assert [held.id for held in hangar.held()] == [running.job.id, ended.job.id]


def test_a_job_that_came_back_to_this_worker_is_not_removed_by_the_end_of_its_older_flight(sample: Any) -> None:
    hangar = Hangar()
    older = flight_of(sample)
    newer = flight_of(sample, id=older.job.id)
    hangar.add([older])
    hangar.add([newer])
    assert hangar.all() == [older, newer]
    hangar.remove([older])
    assert hangar.all() == [newer]


def test_slow_are_those_that_run_for_long(sample: Any) -> None:
    hangar = Hangar()
    waiting, quick, slow, ended = (flight_of(sample) for _ in range(4))
    quick.started = time.monotonic()
    slow.started = ended.started = time.monotonic() - 1
    ended.end()
    hangar.add([waiting, quick, slow, ended])
    assert hangar.slow(0.5) == [slow]
