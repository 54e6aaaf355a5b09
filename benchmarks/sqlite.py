"""The same questions on SQLite: drain, enqueue and latency, beside the other queues that know it."""

from __future__ import annotations

from benchmarks import drain, enqueue, latency
from benchmarks.bench import Bench, Step
from benchmarks.program_description import SQLITE

JOBS = 20_000
ENQUEUED = {"single": 2_000, "bulk": 20_000}


def steps(bench: Bench) -> list[Step]:
    made = []
    for _ in range(bench.plan.repeat_long):
        for rig in bench.rigs(SQLITE):
            for processes in (1, 2):
                asked = bench.plan.drain(jobs=min(JOBS, bench.plan.jobs), processes=processes)
                made.append(drain.step_for(rig, "sqlite", asked))
            made += [enqueue.step_for(rig, "sqlite", how, jobs) for how, jobs in ENQUEUED.items()]
            made.append(latency.step_for(rig, "sqlite", "tuned", name="latency"))
    return made
