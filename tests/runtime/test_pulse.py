"""Alive and ready, as a process's own loops tell."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from django.db import OperationalError

from jobs_app.health import read_health
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.pulse import HealthFile, examine
from tests.waiting import until


class Step(Loop):
    """Does what it is told; the database is not its business."""

    def __init__(self) -> None:
        super().__init__("step")
        self.block = threading.Event()
        self.error: BaseException | None = None
        self.rest = 0.01  # seconds

    def run_once(self) -> None:
        if self.error is not None:
            raise self.error
        if self.block.is_set():
            self._ending.wait()
        self.pause(self.rest)


@pytest.fixture
def step(db: None) -> Step:
    return Step()


def test_a_loop_that_moves_is_alive_and_ready(step: Step) -> None:
    assert examine([step]).unready == ["jobs-step has not begun"]
    step.start()
    until(lambda: examine([step]).is_ready)
    step.stop()
    step.join()
    health = examine([step])
    assert (health.still, health.unready) == ([], ["jobs-step is stopping"])


def test_one_that_stays_in_one_step_stands_still(step: Step) -> None:
    step.start()
    step.block.set()
    assert until(lambda: examine([step], still_after=0.2).still) == ["jobs-step stands still"]
    assert examine([step]).still == []  # not so soon
    step.stop()
    step.join()


def test_one_that_rests_for_long_does_not(step: Step) -> None:
    step.rest = 300
    step.start()
    rests_until = until(lambda: step.moved_at is not None and step.moved_at > time.monotonic() + 200 and step.moved_at)
    assert not step.is_stuck(rests_until, 1)
    assert step.is_stuck(rests_until + 2, 1)
    step.stop()
    step.join()


def test_one_that_died_stands_still() -> None:
    class Dies(Loop):
        def run(self) -> None:
            self.moved_at = 0.0

    dies = Dies("dies")
    dies.start()
    dies.join()
    assert examine([dies]).still == ["jobs-dies stands still"]


def test_a_database_that_is_away_makes_it_unready_and_not_dead(step: Step) -> None:
    step.error = OperationalError("away")
    step.start()
    until(lambda: examine([step]).unready == ["jobs-step fails, and tries again"])
    assert examine([step]).still == []
    step.error = None
    until(lambda: examine([step]).is_ready)
    step.stop()
    step.join()


def test_one_that_is_switched_off_is_neither(step: Step) -> None:
    step.is_off = True
    assert examine([step]).is_ready


def test_the_file_is_written_again_and_again_and_goes_with_the_process(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    file = HealthFile(path, lambda: examine([]))
    file.start()
    first = path.stat().st_ino
    until(lambda: path.stat().st_ino != first)
    assert read_health(path).is_ready
    file.stop()
    assert not path.exists()
