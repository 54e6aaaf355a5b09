"""A scheduler killed at each of its statements: what it had to do is done, each slot once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, Job, RateLimit, ScheduleState
from jobs_app.registry import SYSTEM_NAMES
from jobs_app.scheduler.tick import tick
from tests.conftest import OTHERS
from tests.scheduler.everything import declare, make_schedules, read_code
from tests.scheduler.schedules import NOON, after
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
KILLED_AT = 60
GOES_ON_AT = (61, 240, 330)
READS_CODE_AT = 240  # the source that the dead one had in hand is free again after 120 s

Slots = dict[str, list[float]]

# By the rules, for rounds at 60 (or 61, which adds no slot), 240 and 330 seconds after noon.
TAKEN: Slots = {
    "beat all": [*range(-180, 331, 30)],
    "beat newest": [60, 240, 320],
    "beat on time": [50],  # at 240 the newest is late by 90 seconds, at 330 by 80
    "beat alone": [60],  # its job waits all the time
    "beat one waiting": [60],
    "beat cron": [0, 300],
    "beat single": [30],
    "reconcile from 20": [20],
    "declared": [300],
    "deal f01": [300],
    "deal f02": [300],
}
# All that passed and got no job: together with those above, every slot from the first on.
PASSED_OVER: Slots = {
    "beat newest": [*range(-100, 41, 20), *range(80, 221, 20), 260, 280, 300],
    "beat on time": [-150, -50, 150, 250],
    "beat alone": [0, 120, 180, 240, 300],
    "beat one waiting": [0, 120, 180, 240, 300],
    "reconcile from 20": [80, 140, 200, 260, 320],
    "reconcile from 40": [40, 100, 160, 220, 280],
}
NEXT = {
    "beat all": 360,
    "beat newest": 340,
    "beat on time": 350,
    "beat alone": 360,
    "beat one waiting": 360,
    "beat cron": 600,
    "beat single": None,
    "beat broken": 45,
    "reconcile from 20": 380,
    "reconcile from 40": 340,
    "declared": 600,
    "deal f01": 600,
    "deal f02": 600,
}


@pytest.fixture
def dying(child_environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.scheduler.dying"],
        cwd=ROOT,
        env=child_environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        yield parent
        assert parent.stdin is not None
        parent.stdin.close()


def live(dying: subprocess.Popen[str], fate: str, number: int) -> int:
    """A round in another process, until its fate; how that ended."""
    assert dying.stdin is not None
    assert dying.stdout is not None
    dying.stdin.write(f"{fate} {number} {after(KILLED_AT).isoformat()}\n")
    dying.stdin.flush()
    ended = int(dying.stdout.readline())
    if connection.vendor == "postgresql":
        until(is_its_session_over, every=0.01)
    return ended


def is_its_session_over() -> bool:
    """A server notices a moment later that its client is dead. Until then rows are locked, others have their turn
    before them, and which of two schedules gets the only job of a key is a matter of luck."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {OTHERS} AND xact_start IS NOT NULL")
        return cursor.fetchone() == (0,)


def begin_anew() -> None:
    with transaction.atomic():
        for model in (Job, ScheduleState, ControlEvent, RateLimit):
            model.objects.all().delete()
        make_schedules()


def go_on() -> None:
    for seconds in GOES_ON_AT:
        with frozen_clock(after(seconds)):
            if seconds == READS_CODE_AT:
                read_code()
            while tick(connection).made:
                pass


def offset(moment: datetime | None) -> float | None:
    return None if moment is None else (moment - NOON).total_seconds()


def slots_with_jobs(names: Mapping[int, str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    jobs = Job.objects.filter(schedule__in=names).order_by("slot_at")
    for schedule, slot in jobs.values_list("schedule", "slot_at"):
        found.setdefault(names[schedule], []).append(offset(slot))
    return found


def assert_all_is_done() -> None:
    rows = {str(row): row for row in ScheduleState.objects.exclude(job_type__startswith=SYSTEM_NAMES)}
    assert slots_with_jobs({row.pk: name for name, row in rows.items()}) == TAKEN
    passed_over = {name: row.skipped_slots for name, row in rows.items() if row.skipped_slots}
    assert passed_over == {name: len(slots) for name, slots in PASSED_OVER.items()}
    assert {name: offset(row.next_run_at) for name, row in rows.items()} == NEXT
    assert rows["beat broken"].last_error.startswith("PayloadInvalid")
    charged = Job.objects.filter(job_type="charge").values_list("subject", flat=True)
    assert sorted(charged) == ["s1", "s2", "s3"]


def kill_at_each(dying: subprocess.Popen[str], fate: str) -> int:
    """How many times there were until a round came to its end."""
    for number in count(1):
        begin_anew()
        ended = live(dying, fate, number)
        assert ended in (0, -signal.SIGKILL)
        go_on()
        try:
            assert_all_is_done()
        except AssertionError as error:
            raise AssertionError(f"{fate} {number}: {error}") from None
        if ended == 0:
            return number - 1
    raise AssertionError("no end")


@pytest.mark.spec("S0.22", "S0.24", "S0.R13")
def test_a_scheduler_killed_at_any_statement_loses_no_slot_and_doubles_none(dying: subprocess.Popen[str]) -> None:
    declare()
    assert kill_at_each(dying, "die_at") > 70


@pytest.mark.spec("S0.24")
def test_nor_does_one_that_never_learns_whether_its_commit_came_to_pass(
    dying: subprocess.Popen[str], is_postgres: bool
) -> None:
    if not is_postgres:
        pytest.skip("SQLite carries out what it is told")
    declare()
    assert kill_at_each(dying, "die_at_commit") > 10
