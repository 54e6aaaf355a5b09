"""Measure the app, or with --peers other queues beside it: `make bench`, `make bench-peers`. See README.md."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import machine
from benchmarks.bench import Bench, Plan, Step, open_bench
from benchmarks.figures import Figure, told
from benchmarks.interrupting import exit_code_of
from benchmarks.our_programs import OURS
from benchmarks.program_description import Program
from benchmarks.progress import Progress
from benchmarks.results import Results, ResultsFile

RESULTS = Path(__file__).resolve().parent / "results"
WORKS = ["drain", "enqueue", "latency", "limit", "handlers", "policies", "growth", "sqlite"]
PEERS_WORKS = [
    "drain",
    "enqueue",
    "latency",
    "handlers",
    "growth",
    "sqlite",
]  # what a program of the catalogue can be asked for


def main() -> int:
    options = _arguments()
    url, programs, plan, results = os.environ["DATABASE_URL"], _programs(options.peers), _plan(options), Results()
    about = {
        "machine": machine.facts(url),
        "plan": asdict(plan),
        "programs": {each.name: _described(each) for each in programs},
    }
    file = ResultsFile(options.out / f"{'ours' if options.peers is None else 'peers'}.json", about)
    with open_bench(url, programs, plan) as bench:
        try:
            for work in _measured(bench, options.only, results):
                file.store(work, results, side_by_side=options.peers is not None)
        finally:
            print(results.table(), flush=True)
    return 1 if results.failures else 0


def _measured(bench: Bench, works: list[str], results: Results) -> Iterator[str]:
    """Each work when it is done."""
    planned = {work: importlib.import_module(f"benchmarks.{work}").steps(bench) for work in works}
    progress = Progress(sum(map(len, planned.values())))
    for work, steps in planned.items():
        for step in steps:
            _take(work, step, progress, results)
        bench.forget_all()  # its states are of no use to the next one, and large
        yield work
    progress.close()


def _take(work: str, step: Step, progress: Progress, results: Results) -> None:
    """One that fails costs only itself."""
    progress.begin(step.title)
    try:
        figures = step.act()
    except Exception as error:
        results.failed(work, step.title, error)
        progress.end(f"failed: {error}")
    else:
        results.add(figures)
        progress.end(_brief(figures))


def _brief(figures: list[Figure]) -> str:
    return ", ".join(f"{told(each.value, each.unit)} {each.unit}" for each in figures) or "there is no such thing"


def _programs(peers: list[str] | None) -> list[Program]:
    if peers is None:
        return [OURS]
    from benchmarks.peers.catalogue import PROGRAMS

    if unknown := set(peers) - set(PROGRAMS):
        sys.exit(f"there is no {', '.join(sorted(unknown))} here, but {', '.join(PROGRAMS)}")
    programs = [OURS]
    for name in peers or PROGRAMS:
        if reason := PROGRAMS[name].missing():
            print(f"{name} is left out: {reason}", file=sys.stderr)
        else:
            programs.append(PROGRAMS[name])
    return programs


def _described(program: Program) -> dict[str, object]:
    return {
        "versions": program.versions(),
        "audit": program.audit,
        "persists": program.persists,
        "profiles": dict(program.profiles),
        "stores": list(program.stores),
    }


def _plan(options: argparse.Namespace) -> Plan:
    """Others are so much slower that a drain of theirs is ended early."""
    alone = options.peers is None
    return Plan(
        jobs=options.jobs or (80_000 if alone else 50_000),
        repeat=options.repeat,
        history=options.history,
        behind=options.behind,
        churn=options.churn or (100_000 if alone else 30_000),
        held_minutes=options.held_minutes,
        cap_seconds=120 if alone else 8,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--peers", nargs="?", type=_names, const=[], help="others beside the app, as huey,pgboss; all if none is named")
    add("--only", type=_names, help=f"of {','.join(WORKS)}")
    add("--repeat", type=int, default=3, help="runs of each case; the median is told")
    add("--jobs", type=int, help="jobs of a drain")
    add("--history", type=int, default=500_000, help="finished runs to drain beside, in growth")
    add("--behind", type=int, default=1_000_000, help="jobs queued behind the measured ones, in growth")
    add("--churn", type=int, help="jobs worked off under an old snapshot, in growth")
    add("--out", type=Path, default=RESULTS, help="folder of the results; those of other works stay as they are")
    add("--held-minutes", type=float, default=0, help="hold the snapshot under full load for so long too, in growth")
    options = parser.parse_args()
    known = WORKS if options.peers is None else PEERS_WORKS
    options.only = options.only or known
    if unknown := set(options.only) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))} here, but {', '.join(known)}")
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        parser.error("DATABASE_URL must name a PostgreSQL; `make bench` starts one")
    return options


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
