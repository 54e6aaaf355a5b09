"""How fast do waiting jobs that do nothing go through, what memory does that take, and what does it leave behind?"""

from __future__ import annotations

import time

from benchmarks.bench import Bench, Step
from benchmarks.draining import Drain, drain_figure, drain_once, told_processes
from benchmarks.figures import MEBIBYTES, ROWS, Figure
from benchmarks.program_description import POSTGRES, REDIS, REDIS_AND_POSTGRES
from benchmarks.rig import MEBIBYTE, Rig

CASES = [(1, "tuned"), (2, "tuned"), (1, "default"), (2, "default")]
MEMORY_JOBS = 200_000
MEMORY_LOOKS = 2  # a queue that forgets what is done needs no more at the last of them than at the first
IDLE_SECONDS = 2
STATISTICS_SECONDS = 1  # until the sessions of the ended workers have told PostgreSQL what they did
DEAD_SQL = "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables"
TABLES_SQL = "SELECT coalesce(sum(pg_table_size(relid)), 0) FROM pg_stat_user_tables"
INDEXES_SQL = "SELECT coalesce(sum(pg_indexes_size(relid)), 0) FROM pg_stat_user_tables"


def steps(bench: Bench) -> list[Step]:
    rigs = bench.rigs(POSTGRES, REDIS, REDIS_AND_POSTGRES)
    drains = [
        step_for(rig, "drain", bench.plan.drain(processes=processes, profile=profile))
        for _ in range(bench.plan.repeat)
        for processes, profile in CASES
        for rig in rigs
    ]
    in_tables = [rig for rig in rigs if rig.store.kind == POSTGRES]
    left = [Step(f"left behind by {rig.program.name}", lambda rig=rig: _left_behind(bench, rig)) for rig in in_tables]
    memory = [Step(f"memory of {rig.program.name}", lambda rig=rig: _memory(bench, rig)) for rig in rigs]
    return drains + left + memory


def step_for(rig: Rig, work: str, drain: Drain) -> Step:
    case = f"{told_processes(drain.processes)}, {drain.profile}"

    def act() -> list[Figure]:
        rig.restore_backlog(drain.jobs, drain.profile)
        return [drain_figure(rig, drain, work=work, case=case)]

    return Step(f"{work}, {rig.program.name} on {rig.store.kind}, {case}", act)


def _left_behind(bench: Bench, rig: Rig) -> list[Figure]:
    """Dead rows as a drain leaves them; then, vacuumed, what is kept of a million jobs."""
    rig.restore_schema("tuned")
    empty = {sql: rig.store.count(sql, {}) for sql in (TABLES_SQL, INDEXES_SQL)}
    rig.restore_backlog(bench.plan.jobs, "tuned")
    drained = drain_once(rig, bench.plan.drain())
    time.sleep(STATISTICS_SECONDS)
    dead = rig.store.count(DEAD_SQL, {})
    rig.store.settle()
    figures = [rig.figure("dead rows after it", dead, ROWS, work="drain")]
    if not drained.is_capped:  # the others still wait in the same tables
        millions = drained.jobs / 1_000_000
        for sql, what in ((TABLES_SQL, "tables"), (INDEXES_SQL, "indexes")):
            grown = (rig.store.count(sql, {}) - empty[sql]) / MEBIBYTE
            figures.append(rig.figure(f"{what} for a million jobs", grown / millions, MEBIBYTES, work="drain"))
    return figures


def _memory(bench: Bench, rig: Rig) -> list[Figure]:
    """One worker, idle at first and then fed in portions, so that what grows with the jobs is seen growing."""
    rig.restore_schema("tuned")
    jobs = min(MEMORY_JOBS, bench.plan.jobs * 5)
    starts = rig.starts(jobs + 1)
    with rig.workers(1, starts) as workers:
        rig.fill(1)
        workers.wait_until(lambda: starts.has_begun(0), bench.plan.cap_seconds)
        time.sleep(IDLE_SECONDS)
        figures = [rig.figure("memory, idle", workers.mebibytes(), MEBIBYTES, work="drain")]
        for done in _portions(jobs):
            rig.fill(jobs // MEMORY_LOOKS, start=done - jobs // MEMORY_LOOKS + 1)
            if not workers.wait_until(lambda done=done: starts.has_begun(done), bench.plan.cap_seconds):
                break  # too slow to be fed so much
            time.sleep(IDLE_SECONDS)
            figures.append(rig.figure(f"memory, after {done:,} jobs", workers.mebibytes(), MEBIBYTES, work="drain"))
    return figures


def _portions(jobs: int) -> list[int]:
    return [jobs // MEMORY_LOOKS * (number + 1) for number in range(MEMORY_LOOKS)]
