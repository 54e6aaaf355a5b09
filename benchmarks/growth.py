"""Does a drain stay as fast when much was done before, much waits behind, or the database has a bad day?

Every case is a share of the plain drain, measured in turn with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks import growth_states as states
from benchmarks.bench import Bench, Step
from benchmarks.draining import Drain, drain_figure, drain_once
from benchmarks.figures import Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, REDIS_AND_POSTGRES
from benchmarks.rig import Rig

JOBS = 50_000
CHURN_SECONDS = 60
PLAIN = "plain"
SETTLED_SQL = "SELECT %(jobs)s - count(*) FROM jobs_app_jobrun"  # a count of all that waits behind would take too long
# Nor would a count of what is left be cheap among millions of dead rows: it took longer than the drain. By its index of
# moments history tells what is settled since the drain began.
SETTLED_SINCE_SQL = "SELECT %(jobs)s - count(*) FROM jobs_app_jobrun WHERE finished_at >= %(since)s"

Enough = Callable[[int, float], bool]  # jobs churned, seconds since the snapshot was taken


def steps(bench: Bench) -> list[Step]:
    rigs = bench.rigs(POSTGRES, REDIS_AND_POSTGRES)
    return [step for _ in range(bench.plan.repeat) for rig in rigs for step in _steps_of(bench, rig)]


def _steps_of(bench: Bench, rig: Rig) -> list[Step]:
    plan, jobs = bench.plan, _jobs(bench)
    made = [_step(bench, rig, PLAIN, lambda: rig.restore_backlog(jobs))]
    if rig.program.history:
        case = f"{plan.history:,} finished before"
        made.append(_step(bench, rig, case, lambda: states.with_history(rig, jobs, plan.history)))
    made.append(_held(bench, rig, f"old snapshot, {plan.churn:,} jobs since", lambda done, _: done >= plan.churn))
    if plan.held_minutes:
        case = f"old snapshot, {plan.held_minutes:g} minutes of full load since"
        made.append(_held(bench, rig, case, lambda _, seconds: seconds >= plan.held_minutes * 60))
    return made + (_steps_of_ours(bench, rig, jobs) if bench.programs == [OURS] else [])


def _steps_of_ours(bench: Bench, rig: Rig, jobs: int) -> list[Step]:
    behind = f"{bench.plan.behind:,}"

    def waiting(case: str, **columns: str) -> Step:
        return _step(
            bench,
            rig,
            case,
            lambda: states.with_waiting(rig, jobs, bench.plan.behind, case, columns),
            remaining=SETTLED_SQL,
        )

    return [
        waiting(f"{behind} queued behind", run_at="now() + number * interval '1 microsecond'"),
        waiting(f"{behind} queued behind, of lower priority", priority="-1", run_at="now()"),
        waiting(f"{behind} due tomorrow", run_at="now() + interval '1 day'"),
        _step(bench, rig, "never analyzed", lambda: states.without_statistics(rig, jobs)),
        _step(bench, rig, "analyzed when empty", lambda: states.with_statistics_of_nothing(rig, jobs)),
    ]


def _step(bench: Bench, rig: Rig, case: str, restore: Callable[[], None], *, remaining: str | None = None) -> Step:
    def act() -> list[Figure]:
        restore()
        drain = bench.plan.drain(jobs=_jobs(bench), remaining=remaining)
        return [drain_figure(rig, drain, work="growth", case=case, beside=PLAIN if case != PLAIN else "")]

    return Step(f"growth, {rig.program.name}, {case}", act)


def _held(bench: Bench, rig: Rig, case: str, is_enough: Enough) -> Step:
    """A session holds a snapshot that is older than all jobs: no row that was since deleted can be cleaned away."""

    def act() -> list[Figure]:
        rig.restore_schema()
        with states.held_snapshot(bench.postgres):
            churned, is_done = _churn(bench, rig, is_enough)
            rig.fill(_jobs(bench), start=0 if is_done else bench.plan.churn)
            rig.store.run("ANALYZE", {})
            remaining = SETTLED_SINCE_SQL if rig.program is OURS else None
            drain = bench.plan.drain(jobs=_jobs(bench), remaining=remaining)
            figure = drain_figure(rig, drain, work="growth", case=case, beside=PLAIN)
        return [figure if is_done else replace(figure, note=f"{figure.note}; only {churned:,} jobs since the snapshot")]

    return Step(f"growth, {rig.program.name}, {case}", act)


def _churn(bench: Bench, rig: Rig, is_enough: Enough) -> tuple[int, bool]:
    """How many jobs were worked off, and whether it was enough. A slow program leaves some that it goes on with."""
    done, began = 0, time.monotonic()
    while not is_enough(done, time.monotonic() - began):
        rig.fill(bench.plan.churn)
        churned = drain_once(rig, Drain(jobs=bench.plan.churn, cap_seconds=CHURN_SECONDS))
        done += churned.jobs
        if churned.is_capped:
            return done, False
    return done, True


def _jobs(bench: Bench) -> int:
    return min(JOBS, bench.plan.jobs, bench.plan.churn)
