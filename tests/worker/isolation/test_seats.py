"""Seats beside processes, as the crew fills them: a job runs there, may be stopped there, or is taken back."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker.crew import Crew
from jobs_app.worker.flight import Flight, Report
from jobs_app.worker.pace import Pace
from tests.waiting import until
from tests.worker.flights import flight_of
from tests.worker.harness import Ledger, is_gone


class Ended(list[tuple[Flight, Report | None]]):
    def __call__(self, flight: Flight, report: Report | None) -> None:
        self.append((flight, report))

    def of(self, flight: Flight) -> Report:
        until(lambda: flight in [known for known, _ in self], every=0.01)
        return next(report for known, report in self if known is flight and report is not None)


@pytest.fixture
def ended() -> Ended:
    return Ended()


@pytest.fixture
def crew(ended: Ended, zoo: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.worker.settings")
    monkeypatch.setenv("MORE_JOBS", "tests.worker.isolation.zoo")
    crew = Crew(2, Pace(), ended)
    yield crew
    crew.stop()


def test_each_job_runs_where_its_type_says(crew: Crew, ended: Ended, zoo: Any) -> None:
    @job
    def in_thread() -> str:
        return threading.current_thread().name

    @job
    async def in_loop() -> str:
        return threading.current_thread().name

    flights = [flight_of(each) for each in (in_thread, in_loop, zoo.who, zoo.awho)]
    crew.launch(flights)
    thread, loop, process, async_process = [ended.of(flight).ended.result for flight in flights]
    assert (thread, loop) == ('"jobs-0"', '"jobs-async"')
    assert str(os.getpid()) not in (process, async_process)


def test_a_job_in_a_process_is_stopped_by_force(crew: Crew, ended: Ended, zoo: Any, ledger: Ledger) -> None:
    flight = flight_of(zoo.never_ask)
    crew.launch([flight])
    (began,) = ledger.wait("began")
    crew.abort(flight, outcome="cancelled")
    report = ended.of(flight)
    assert (report.ended.state, report.ended.outcome) == ("cancelled", "cancelled")
    assert is_gone(began["pid"])


def test_a_job_that_was_given_up_is_gone_before_somebody_else_may_run_it(
    crew: Crew, ended: Ended, zoo: Any, ledger: Ledger
) -> None:
    flight = flight_of(zoo.never_ask)
    crew.launch([flight])
    (began,) = ledger.wait("began")
    assert flight.end()
    crew.abandon(flight)
    assert is_gone(began["pid"])
    after = flight_of(zoo.who)
    crew.launch([after])
    assert ended.of(after).ended.state == "succeeded"
    assert [known for known, _ in ended] == [after]  # its thread said nothing


def test_what_waits_for_a_process_is_taken_back(crew: Crew, zoo: Any, ledger: Ledger, tmp_path: Path) -> None:
    busy = [flight_of(zoo.stay, payload=f'{{"until": "{tmp_path / "gate"}"}}') for _ in range(2)]
    waiting = flight_of(zoo.who)
    crew.launch(busy)
    ledger.wait("began", 2)
    crew.launch([waiting])
    assert crew.hurry(60, running=2) == []
    assert crew.hurry(0, running=2) == [waiting]
    (tmp_path / "gate").touch()


def test_a_job_for_which_no_process_can_be_started_goes_back_unspent(
    crew: Crew, ended: Ended, zoo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.no_such_settings")
    flight = flight_of(zoo.who)
    crew.launch([flight])
    found = ended.of(flight).ended
    assert (found.state, found.outcome, found.free, found.delay) == ("queued", "interrupted", True, 30)
    assert "no process could be started" in found.error


def test_a_type_that_the_child_does_not_know_goes_back_unspent(crew: Crew, ended: Ended) -> None:
    @job(isolation="process")
    def new_in_this_release() -> None: ...

    flight = flight_of(new_in_this_release)
    crew.launch([flight])
    found = ended.of(flight).ended
    assert (found.state, found.free) == ("queued", True)
    assert "'new_in_this_release' is not registered" in found.error


@pytest.mark.parametrize("when", ["unfit", "cancelled"])
def test_a_job_that_must_not_run_meets_no_process(
    crew: Crew, ended: Ended, zoo: Any, ledger: Ledger, when: str
) -> None:
    flight = flight_of(zoo.never_ask)
    flight.unfit = ValueError("no timeout") if when == "unfit" else None
    flight.context.cancelled = when == "cancelled"
    crew.launch([flight])
    assert ended.of(flight).ended.state in ("queued", "cancelled")
    assert ledger.lines() == []
