"""Handlers that do something: how close do 50 at once come to what Python does with 50 at once?

And with one query in each job, for what a Django project really runs: beside others that can do the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial

from benchmarks.bench import Bench, Step
from benchmarks.draining import drain_figure
from benchmarks.figures import JOBS_PER_SECOND, Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, REDIS_AND_POSTGRES
from benchmarks.rig import ROOT, Rig

AT_ONCE = 50
SECONDS_OF_WORK = 4  # that the jobs of a case take at the least
MOST_JOBS = 40_000  # 1 ms and 50 at once would be 50,000 in a second, which nothing here reaches
PLAIN_JOBS = 20_000
SLEEPS = [(1, "sleep"), (10, "sleep"), (1, "async_sleep"), (10, "async_sleep")]
WAYS = {"sleep": "threads", "async_sleep": "tasks"}
NO_WORK, QUERY = "no work", "one ORM query"


def steps(bench: Bench) -> list[Step]:
    queries = [rig for rig in bench.rigs(POSTGRES, REDIS_AND_POSTGRES) if "query" in rig.program.handlers]
    ours = bench.rig(OURS, POSTGRES)
    made = []
    for _ in range(bench.plan.repeat_long):
        made += [_sleeping(bench, ours, *each) for each in SLEEPS]
        made += [_plain(bench, ours, "noop", NO_WORK)]
        made += [_plain(bench, rig, "query", QUERY) for rig in queries]
    return made


def _sleeping(bench: Bench, rig: Rig, milliseconds: int, handler: str) -> Step:
    case = f"{milliseconds} ms, {AT_ONCE} {WAYS[handler]}"
    alone = f"{case} of Python alone"
    allowed = AT_ONCE * 1000 / milliseconds
    jobs = int(min(bench.plan.jobs, allowed * SECONDS_OF_WORK, MOST_JOBS))
    work = {"BENCH_HANDLER": handler, "BENCH_SLEEP_MS": str(milliseconds)}

    def act() -> list[Figure]:
        rig.restore_backlog(jobs, options={"BENCH_HANDLER": handler})
        drain = bench.plan.drain(jobs=jobs, options=work | {"BENCH_WORKER_ARGS": f"--concurrency {AT_ONCE}"})
        figure = partial(rig.figure, unit=JOBS_PER_SECOND, work="handlers")
        return [
            drain_figure(rig, drain, work="handlers", case=case, beside=alone),
            figure(alone, _python_alone(rig, handler, jobs, work), beside=f"{case}, by arithmetic"),
            figure(f"{case}, by arithmetic", allowed),
        ]

    return Step(f"handlers, {case}", act)


def _python_alone(rig: Rig, handler: str, jobs: int, work: dict[str, str]) -> float:
    environment = {**os.environ, **work, "BENCH_TIMES": str(rig.starts(jobs).path)}
    argv = [sys.executable, "-m", "benchmarks.sleepers", handler, str(AT_ONCE), str(jobs)]
    ran = subprocess.run(argv, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=120)
    return float(json.loads(ran.stdout)["rate"])


def _plain(bench: Bench, rig: Rig, handler: str, case: str) -> Step:
    """With the concurrency that a worker has by default."""

    def act() -> list[Figure]:
        drain = bench.plan.drain(jobs=min(bench.plan.jobs, PLAIN_JOBS), options={"BENCH_HANDLER": handler})
        rig.restore_backlog(drain.jobs, options=drain.options)
        beside = NO_WORK if case == QUERY and rig.program is OURS else ""
        return [drain_figure(rig, drain, work="handlers", case=case, beside=beside)]

    return Step(f"handlers, {rig.program.name}, {case}", act)
