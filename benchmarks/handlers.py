"""Handlers that do something: how close do 50 at once come to what 50 at once allow?"""

from __future__ import annotations

from benchmarks.bench import Bench, Step
from benchmarks.draining import drain_figure
from benchmarks.figures import JOBS_PER_SECOND, Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES

AT_ONCE = 50
SECONDS_OF_WORK = 4  # that the jobs of a case take at the least
MOST_JOBS = 40_000  # 1 ms and 50 at once would be 50,000 in a second, which nothing here reaches
PLAIN_JOBS = 20_000
SLEEPS = [(1, "sleep"), (10, "sleep"), (1, "async_sleep"), (10, "async_sleep")]


def steps(bench: Bench) -> list[Step]:
    made = []
    for _ in range(bench.plan.repeat_long):
        made += [_sleeping(bench, milliseconds, handler) for milliseconds, handler in SLEEPS]
        made += [_plain(bench, "noop", "no work"), _plain(bench, "query", "one ORM query")]
    return made


def _sleeping(bench: Bench, milliseconds: int, handler: str) -> Step:
    way = "async" if handler == "async_sleep" else "sync"
    case = f"{milliseconds} ms, {way}, {AT_ONCE} at once"
    allowed = AT_ONCE * 1000 / milliseconds
    rig = bench.rig(OURS, POSTGRES)

    def act() -> list[Figure]:
        jobs = int(min(bench.plan.jobs, allowed * SECONDS_OF_WORK, MOST_JOBS))
        work = {"BENCH_HANDLER": handler, "BENCH_SLEEP_MS": str(milliseconds)}
        rig.restore_backlog(jobs, options={"BENCH_HANDLER": handler})
        drain = bench.plan.drain(jobs=jobs, options=work | {"BENCH_WORKER_ARGS": f"--concurrency {AT_ONCE}"})
        most = f"{milliseconds} ms, all that {AT_ONCE} at once allow"
        return [
            drain_figure(rig, drain, work="handlers", case=case, beside=most),
            rig.figure(most, allowed, JOBS_PER_SECOND, work="handlers"),
        ]

    return Step(f"handlers, {case}", act)


def _plain(bench: Bench, handler: str, case: str) -> Step:
    """With the concurrency that a worker has by default."""
    rig = bench.rig(OURS, POSTGRES)

    def act() -> list[Figure]:
        drain = bench.plan.drain(jobs=min(bench.plan.jobs, PLAIN_JOBS), options={"BENCH_HANDLER": handler})
        rig.restore_backlog(drain.jobs, options=drain.options)
        return [drain_figure(rig, drain, work="handlers", case=case, beside="no work" if handler != "noop" else "")]

    return Step(f"handlers, {case}", act)
