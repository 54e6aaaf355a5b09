"""One drain: worker processes are started on jobs that wait, and the clock runs until the last one is settled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import JOBS_PER_SECOND, Figure
from benchmarks.rig import Options, ProgramFailed, Rig, Workers
from benchmarks.starts import Starts

SETTLED_LOOK_SECONDS = 0.005
FIRST_START_SECONDS = 60
SETTLE_SECONDS = 60  # after the last start
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Drain:
    """What to drain, and with what. The state of the store is there already."""

    jobs: int  # of number 0 and up; what waits behind them is not waited for
    processes: int = 1
    profile: str = "tuned"
    options: Options = None
    cap_seconds: float = 60
    remaining: str | None = None  # SQL instead of the program's own, where more waits than is measured


@dataclass(frozen=True)
class Drained:
    rate: float  # jobs settled in a second
    jobs: int
    seconds: float
    is_capped: bool
    mebibytes: float  # resident, at the end


def drain_once(rig: Rig, drain: Drain) -> Drained:
    starts = rig.starts(drain.jobs)
    left = _counter(rig, drain, rig.store.now())
    before = left()
    with rig.workers(drain.processes, starts, profile=drain.profile, options=drain.options) as workers:
        is_capped = not _wait_for_starts(rig, drain, starts, workers)
        if not is_capped:
            _wait_until_settled(rig, left, workers)
        ended = time.time_ns()
        settled = before - left() if is_capped else drain.jobs
        mebibytes = workers.mebibytes()
    seconds = (ended - (starts.first() or ended)) / NANOSECONDS
    return Drained(settled / seconds if seconds else 0.0, settled, seconds, is_capped, mebibytes)


def drain_figure(rig: Rig, drain: Drain, *, work: str, case: str, beside: str = "") -> Figure:
    drained = drain_once(rig, drain)
    note = f"ended after {drained.seconds:.0f} s with {drained.jobs:,} jobs" if drained.is_capped else ""
    return rig.figure(case, drained.rate, JOBS_PER_SECOND, work=work, beside=beside, note=note)


def told_processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _counter(rig: Rig, drain: Drain, since: Any) -> Callable[[], int]:
    sql = drain.remaining
    if sql is None:
        return lambda: rig.remaining(drain.jobs, since)
    return lambda: rig.store.count(sql, {"jobs": drain.jobs, "since": since})


def _wait_for_starts(rig: Rig, drain: Drain, starts: Starts, workers: Workers) -> bool:
    """False when the cap was reached before every handler had started."""
    if not workers.wait_until(lambda: starts.first() is not None, FIRST_START_SECONDS):
        raise ProgramFailed(f"{rig.program.name} started no job within {FIRST_START_SECONDS} s")
    return workers.wait_until(starts.have_all_begun, drain.cap_seconds)


def _wait_until_settled(rig: Rig, left: Callable[[], int], workers: Workers) -> None:
    """Counted only now: the workers would feel it. Below 0, jobs behind the measured ones were settled too."""
    if not workers.wait_until(lambda: left() <= 0, SETTLE_SECONDS, look_every=SETTLED_LOOK_SECONDS):
        raise ProgramFailed(f"{rig.program.name} left {left()} jobs unsettled for {SETTLE_SECONDS} s")
