"""Eight real schedulers in real time, one of them killed every few seconds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler.tick import tick
from tests.scheduler.schedules import schedule
from tests.waiting import until

CHILD = Path(__file__).with_name("beating.py")
PROCESSES = 8
SCHEDULES = 60
KILLS = 15
JOBS_BETWEEN_KILLS = 160  # about four seconds
SEED = 1


@contextmanager
def scheduler(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**environment, "PYTHONPATH": str(CHILD.parents[2])}
    child = subprocess.Popen([sys.executable, CHILD, "runscheduler", "--poll", "2"], env=environment)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def let_time_pass() -> None:
    known = Job.objects.count()
    until(lambda: Job.objects.count() >= known + JOBS_BETWEEN_KILLS, seconds=120)


@pytest.mark.slow
@pytest.mark.spec("S0.22", "S0.24", "S0.R13")
def test_schedulers_that_are_killed_all_the_time_make_each_slot_once(child_environment: dict[str, str]) -> None:
    @job
    def beat() -> None: ...

    random = Random(SEED)
    start = database_now(connection)
    first = {}
    for number in range(SCHEDULES):
        at = start + timedelta(milliseconds=random.randrange(2000))
        every = random.choice([1, 1.25, 1.5, 2])
        row = schedule("beat", origin="admin", name=str(number), next_run_at=at, interval_seconds=every, catch_up="all")
        first[row.pk] = at
    with ExitStack() as alive:
        children = [alive.enter_context(scheduler(child_environment)) for _ in range(PROCESSES)]
        for _ in range(KILLS):
            let_time_pass()
            children.pop(random.randrange(PROCESSES)).kill()
            children.append(alive.enter_context(scheduler(child_environment)))
        let_time_pass()
    until(lambda: not tick(connection).made)
    for row in ScheduleState.objects.all():
        assert row.next_run_at is not None
        assert row.interval_seconds is not None
        step = timedelta(seconds=row.interval_seconds)
        slots = Job.objects.filter(schedule=row.pk).order_by("slot_at").values_list("slot_at", flat=True)
        passed = (row.next_run_at - first[row.pk]) // step
        assert passed > 10
        assert list(slots) == [first[row.pk] + place * step for place in range(passed)]
        assert row.skipped_slots == 0
