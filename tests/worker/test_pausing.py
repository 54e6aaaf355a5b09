"""Pauses as workers keep them: nothing new starts, what runs goes on, and a resume lets all of it go."""

from __future__ import annotations

import threading

import pytest

from jobs_app import job
from jobs_app.lifecycle import control, parking
from jobs_app.lifecycle.pause_walks import Walked, Walker
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.models import Job, Pause
from tests.waiting import until
from tests.worker.harness import finished, state, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("scope", "name"), [("all", ""), ("queue", "default"), ("job_type", "work"), ("subject", "tenant-1")]
)
def test_nothing_of_what_is_paused_starts_until_it_is_resumed(scope: str, name: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @job(subject="tenant")
    def work(tenant: str, wait: bool = False) -> None:
        if wait:
            begun.set()
            assert go_on.wait(20)

    @job(queue="elsewhere")
    def other() -> None: ...

    with working() as worker:
        running = work.enqueue(tenant="tenant-1", wait=True)
        assert begun.wait(20)
        control.pause(scope, name, actor="ann", reason="provider is down")
        until(lambda: worker.claimer._gates.pauses != Pauses())
        waiting = [work.enqueue(tenant="tenant-1") for _ in range(3)]
        if scope != "all":
            assert finished(other.enqueue()) == ["succeeded"]
        go_on.set()
        assert finished(running) == ["succeeded"]  # what runs goes on
        assert {state(run) for run in waiting} == {"queued"}
        control.resume(scope, name, actor="ann")
        assert finished(*waiting) == ["succeeded"] * 3


def test_a_pause_that_ends_by_time_is_ended_by_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    @job
    def work() -> None: ...

    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 2)
    run = [work.enqueue() for _ in range(7)]
    control.pause("job_type", "work", actor="ann")
    assert set(Job.objects.values_list("hold", flat=True)) == {"pause"}
    Pause.objects.update(until="2026-01-01T00:00Z")
    with working():
        assert finished(*run) == ["succeeded"] * 7


def test_workers_park_what_the_operator_had_no_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    @job
    def work() -> None: ...

    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 2)
    with monkeypatch.context() as patch:
        patch.setattr(Walker, "walk", lambda *args: Walked(more=True))
        for _ in range(7):
            work.enqueue()
        assert control.pause("job_type", "work", actor="ann").more
    with working():
        until(lambda: Pause.objects.get().parked)
    assert set(Job.objects.values_list("hold", flat=True)) == {"pause"}
