"""What this machine allows at all: the same rows through the same tables with nothing around them."""

from __future__ import annotations

import sys

from benchmarks.bench import Bench, Step
from benchmarks.draining import drain_figure, told_processes
from benchmarks.figures import Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, Program

LIMIT = Program(
    name="limit",
    argv=lambda: [sys.executable, "-m", "benchmarks.limit_program"],
    stores=(POSTGRES,),
    remaining=OURS.remaining,
    audit=OURS.audit,
    profiles={"tuned": "psycopg, three threads with a connection each"},
)
BATCHES = (200, 500)
PROCESSES = (1, 2)


def steps(bench: Bench) -> list[Step]:
    return [
        _step(bench, batch, processes) for _ in range(bench.plan.repeat) for processes in PROCESSES for batch in BATCHES
    ]


def _step(bench: Bench, batch: int, processes: int) -> Step:
    case = f"{told_processes(processes)}, batches of {batch}"
    rig = bench.rig(LIMIT, POSTGRES)

    def act() -> list[Figure]:
        bench.rig(OURS, POSTGRES).restore_backlog(bench.plan.jobs)
        drain = bench.plan.drain(processes=processes, options={"BENCH_BATCH": str(batch)})
        return [drain_figure(rig, drain, work="limit", case=case)]

    return Step(f"limit, {case}", act)
