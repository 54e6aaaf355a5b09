"""Sources are read beside the ticks."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections

from jobs_app import job, subjects
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler.loop import Scheduler
from jobs_app.scheduler.reading import SourceReader
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def deal() -> Any:
    @job(name="deal", every="1h")
    def deal() -> None: ...

    return deal


def run(*loops: Any) -> None:
    for loop in loops:
        loop.start()


def stop(*loops: Any) -> None:
    for loop in loops:
        loop.stop()
    for loop in loops:
        loop.join(30)
        assert not loop.is_alive()


def test_one_of_several_schedulers_reads_a_source_once_per_poll() -> None:
    read: list[str] = []

    @subjects("deal")
    def providers() -> list[str]:
        read.append(threading.current_thread().name)
        return ["f01"]

    readers = [SourceReader(poll=300) for _ in range(3)]
    run(*readers)
    try:
        until(ScheduleState.objects.exists, every=0.01)
    finally:
        stop(*readers)
    assert len(read) == 1


def test_a_source_is_read_again_at_each_poll() -> None:
    rows = ["f01"]
    subjects("deal")(lambda: list(rows))
    reader = SourceReader(poll=0.05)
    run(reader)
    try:
        until(lambda: ScheduleState.objects.filter(subject="f01").exists(), every=0.01)
        rows[:] = ["f02"]
        until(lambda: not ScheduleState.objects.filter(subject="f01").exists(), every=0.01)
        assert ScheduleState.objects.get().subject == "f02"
    finally:
        stop(reader)


def test_between_two_polls_it_keeps_no_connection_to_any_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that breaks meanwhile would fail for ever: nobody else looks after the connections of this thread."""
    monkeypatch.setitem(connections.settings, "elsewhere", connections.settings["default"])
    kept: list[Any] = []

    class Elsewhere:
        connection: Any = "open"

        def close(self) -> None:
            self.connection = None

    class Watched(SourceReader):
        def pause(self, seconds: float) -> bool:
            kept.append([each.connection for each in connections.all(initialized_only=True)])
            return super().pause(seconds)

    @subjects("deal")
    def providers() -> list[str]:
        connections["elsewhere"] = Elsewhere()
        return ["f01"]

    reader = Watched(poll=300)
    run(reader)
    try:
        until(lambda: kept, every=0.01)
    finally:
        stop(reader)
    assert kept[0] == [None, None]


def test_a_slow_source_makes_no_slot_late() -> None:
    reading, go_on = threading.Event(), threading.Event()

    @subjects("deal")
    def slow() -> list[str]:
        reading.set()
        go_on.wait(30)
        return ["f01"]

    @job(every=0.1)
    def beat() -> None: ...

    scheduler = Scheduler(poll=300)
    run(scheduler)
    try:
        assert reading.wait(30)
        known = Job.objects.filter(job_type="beat").count()
        until(lambda: Job.objects.filter(job_type="beat").count() >= known + 3, every=0.01)
        go_on.set()
        until(lambda: Job.objects.filter(job_type="deal", subject="f01").exists(), every=0.01)
    finally:
        go_on.set()
        stop(scheduler)
