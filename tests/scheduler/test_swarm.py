"""Schedulers without a leader, whose clocks are apart and who die all the time: each slot once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from django.db import connection

from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler.tick import tick
from tests.scheduler.everything import declare
from tests.scheduler.oracle import Kind, kinds
from tests.scheduler.schedules import NOON, after, schedule
from tests.scheduler.swarm import SKEWS

ROOT = Path(__file__).resolve().parents[2]
SIMULATED = 1200  # seconds
SCHEDULES = 200
EXCLUSIVE = 20  # pairs of schedules with one key


def make_schedules(random: Random) -> dict[int, Kind]:
    found = {}
    for number, kind in enumerate(kinds(random, SCHEDULES)):
        row = schedule("beat", origin="admin", name=str(number), next_run_at=after(kind.first), **kind.columns)
        found[row.pk] = kind
    for number in range(EXCLUSIVE * 2):
        start, name = after(random.randrange(0, 600)), str(number // EXCLUSIVE)
        schedule("reconcile", origin="admin", subject=str(number % EXCLUSIVE), name=name, next_run_at=start)
    return found


def swarm(environment: dict[str, str], seed: int) -> dict[str, int]:
    """Let them live until the simulated time is over."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.scheduler.swarm", str(seed), str(SIMULATED)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    return json.loads(done.stdout)


def take_what_is_left(seconds: float) -> None:
    with frozen_clock(after(seconds)):
        for _ in range(1000):
            if not tick(connection).rows:
                return
    raise AssertionError("something stays due for ever")


def slots_by_schedule() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pk, slot in Job.objects.order_by("slot_at").values_list("schedule", "slot_at"):
        assert pk is not None
        assert slot is not None
        found.setdefault(pk, []).append(int((slot - NOON).total_seconds()))
    return found


@pytest.mark.spec("S0.22", "S0.24", "S0.R13")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_swarm_with_clocks_apart_and_deaths_makes_each_slot_once(
    child_environment: dict[str, str], seed: int
) -> None:
    declare()
    expected = make_schedules(Random(seed))
    told = swarm(child_environment, seed)
    end = SIMULATED + max(SKEWS)
    take_what_is_left(end)
    found = slots_by_schedule()
    wrong = {
        f"{kind.columns} from {kind.first}": Counter(found.get(pk, [])) - Counter(kind.slots(end))
        or Counter(kind.slots(end)) - Counter(found.get(pk, []))
        for pk, kind in expected.items()
        if found.get(pk, []) != kind.slots(end)
    }
    assert wrong == {}, f"seed {seed}, {told}"
    skipped = {row.pk: row.skipped_slots for row in ScheduleState.objects.filter(pk__in=expected)}
    assert skipped == {pk: len(kind.passed(end)) - len(kind.slots(end)) for pk, kind in expected.items()}, (
        f"seed {seed}"
    )
    exclusive = Job.objects.filter(job_type="reconcile").values_list("subject", flat=True)
    assert Counter(exclusive) == dict.fromkeys(map(str, range(EXCLUSIVE)), 1), f"seed {seed}"
    assert told["killed"] > 20, told
