"""What does it cost that only one job of a key runs at a time, and what do others pay for a key that is saturated?"""

from __future__ import annotations

import sys
from dataclasses import replace

from benchmarks.bench import Bench, Step
from benchmarks.draining import drain_figure
from benchmarks.figures import Figure
from benchmarks.our_programs import OURS
from benchmarks.program_description import POSTGRES, Program
from benchmarks.rig import Rig

KEYED = Program(
    name="keyed",
    argv=lambda: [sys.executable, "-m", "benchmarks.keyed_program"],
    stores=(POSTGRES,),
    remaining=OURS.remaining,
    audit=OURS.audit,
    profiles=OURS.profiles,
)
KEYS = 1000
SATURATED = 100_000  # jobs of one key in front of all others
JOBS = 10_000
HOT = {"BENCH_KEYS": "1", "BENCH_KEY_PREFIX": "hot"}
OTHERS_REMAINING = "SELECT count(*) FROM jobs_app_job WHERE key <> 'hot0'"
PLAIN, KEYED_CASE = "no key", f"{KEYS:,} keys, one job of each at a time"


def steps(bench: Bench) -> list[Step]:
    made = []
    for _ in range(bench.plan.repeat_long):
        made += [
            Step(f"policies, {PLAIN}", lambda: _plain(bench)),
            Step(f"policies, {KEYED_CASE}", lambda: _keyed(bench)),
            Step("policies, behind a saturated key", lambda: _behind_a_saturated_key(bench)),
        ]
    return made


def _plain(bench: Bench) -> list[Figure]:
    return [_drain(bench, bench.rig(OURS, POSTGRES), PLAIN)]


def _keyed(bench: Bench) -> list[Figure]:
    return [_drain(bench, bench.rig(KEYED, POSTGRES), KEYED_CASE, beside=PLAIN)]


def _drain(bench: Bench, rig: Rig, case: str, *, beside: str = "") -> Figure:
    rig.restore_backlog(_jobs(bench))
    return _as_ours(drain_figure(rig, bench.plan.drain(jobs=_jobs(bench)), work="policies", case=case, beside=beside))


def _behind_a_saturated_key(bench: Bench) -> list[Figure]:
    """The clock starts with the first job of all: the time in which only the saturated key is looked at counts."""
    rig = bench.rig(KEYED, POSTGRES)
    jobs, saturated = _jobs(bench), min(SATURATED, bench.plan.behind)
    case = f"the same behind {saturated:,} jobs of one other key"

    def make() -> None:
        rig.restore_schema()
        rig.fill(saturated, start=jobs, options=HOT)
        rig.fill(jobs)

    rig.restore("behind", make)
    drain = bench.plan.drain(jobs=jobs, remaining=OTHERS_REMAINING)
    return [_as_ours(drain_figure(rig, drain, work="policies", case=case, beside=KEYED_CASE))]


def _jobs(bench: Bench) -> int:
    return min(JOBS, bench.plan.jobs)


def _as_ours(figure: Figure) -> Figure:
    """Another program, but the same library: the cases stand beside each other."""
    return replace(figure, program=OURS.name)
