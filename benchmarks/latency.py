"""How long does an idle worker take to start a job: from the return of the enqueue call to the start of the handler?"""

from __future__ import annotations

import time

from benchmarks.bench import Bench, Step
from benchmarks.figures import MILLISECONDS, Figure, percentile
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, REDIS, REDIS_AND_POSTGRES
from benchmarks.rig import Options, ProgramFailed, Rig

JOBS = 200
GAP_MS = 20
IDLE_SECONDS = 1
PATIENCE_SECONDS = 20  # for jobs that have not started when the last was enqueued
PERCENTILES = (50, 95, 99)
POLLING_ONLY = {"BENCH_WORKER_ARGS": "--no-listen"}


def steps(bench: Bench) -> list[Step]:
    made = []
    for _ in range(bench.plan.repeat_long):
        for rig in bench.rigs(POSTGRES, REDIS, REDIS_AND_POSTGRES):
            made += [step_for(rig, "latency", profile) for profile in ("tuned", "default")]
            if rig.program is OURS:
                made.append(step_for(rig, "latency", "tuned", name="tuned, polling only", options=POLLING_ONLY))
    return made


def step_for(rig: Rig, work: str, profile: str, *, name: str = "", options: Options = None) -> Step:
    case = name or profile

    def act() -> list[Figure]:
        rig.restore_schema(profile)
        waits = measure(rig, profile, options)
        note = "" if len(waits) == JOBS else f"{len(waits)} of {JOBS} jobs started"
        return [
            rig.figure(f"{case}, p{percent}", percentile(waits, percent), MILLISECONDS, work=work, note=note)
            for percent in PERCENTILES
        ]

    return Step(f"{work}, {rig.program.name} on {rig.store.kind}, {case}", act)


def measure(
    rig: Rig, profile: str = "tuned", options: Options = None, *, jobs: int = JOBS, gap: float = GAP_MS
) -> list[float]:
    """Milliseconds, one for each job that started. Below zero: it started before the call had returned."""
    starts = rig.starts(jobs + 1)
    with rig.workers(1, starts, profile=profile, options=options) as workers:
        rig.call("single", 1, jobs, profile=profile)  # the worker is warm and idle when this one is done
        if not workers.wait_until(lambda: starts.has_begun(jobs), PATIENCE_SECONDS):
            raise ProgramFailed(f"{rig.program.name} did not start a single job")
        time.sleep(IDLE_SECONDS)
        returned = rig.call("paced", jobs, gap, 0, profile=profile)["returned"]
        workers.wait_until(starts.have_all_begun, PATIENCE_SECONDS)
    begun = starts.all()[:jobs]
    waits = [(start - end) / 1_000_000 for start, end in zip(begun, returned, strict=True) if start]
    if not waits:
        raise ProgramFailed(f"{rig.program.name} started none of {jobs} jobs")
    return waits
