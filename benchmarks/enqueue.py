"""How fast are jobs stored, one by one and in bulk, and how far is that from an INSERT that is written by hand?"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.bench import Bench, Step
from benchmarks.figures import JOBS_PER_SECOND, Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, REDIS, REDIS_AND_POSTGRES
from benchmarks.raw_inserts import insert_bulk, insert_single
from benchmarks.rig import Rig

JOBS = {"single": 2_000, "bulk": 20_000}
RAW = {"single": insert_single, "bulk": insert_bulk}


def steps(bench: Bench) -> list[Step]:
    rigs = bench.rigs(POSTGRES, REDIS, REDIS_AND_POSTGRES)
    return [
        step
        for _ in range(bench.plan.repeat)
        for how in JOBS
        for rig in rigs
        for step in [*_raw_step(bench, rig, how), step_for(rig, "enqueue", how, JOBS[how])]
    ]


def step_for(rig: Rig, work: str, how: str, jobs: int) -> Step:
    return _step(rig, work, how, jobs, lambda: rig.enqueue(how, jobs), beside=_raw(how))


def _raw_step(bench: Bench, rig: Rig, how: str) -> list[Step]:
    """Into our table: the libraries have others."""
    if rig.program is not OURS:
        return []
    return [_step(rig, "enqueue", _raw(how), JOBS[how], lambda: RAW[how](bench.postgres.url, JOBS[how]))]


def _raw(how: str) -> str:
    return f"{how}, INSERT by hand"


def _step(
    rig: Rig, work: str, case: str, jobs: int, store_jobs: Callable[[], float | None], *, beside: str = ""
) -> Step:
    def act() -> list[Figure]:
        rig.restore_schema()
        seconds = store_jobs()
        if seconds is None:
            return []
        return [rig.figure(case, jobs / seconds, JOBS_PER_SECOND, work=work, beside=beside)]

    return Step(f"{work}, {rig.program.name} on {rig.store.kind}, {case}", act)
