"""Remote workers over real HTTP beside a local worker: how many jobs go through, how soon, and what waiting costs.

`python -m jobsite.localpg run -- python -m benchmarks.http`, or with the PostgreSQL of DATABASE_URL, or with --sqlite.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import latency, machine
from benchmarks.calls import Calls
from benchmarks.draining import Drain, drain_figure
from benchmarks.figures import MILLISECONDS, Figure, percentile, told
from benchmarks.http_server import Site, Web, serving
from benchmarks.idle_cost import IdleCost, idle_cost
from benchmarks.interrupting import exit_code_of
from benchmarks.our_programs import OURS, OURS_OVER_HTTP
from benchmarks.progress import Progress
from benchmarks.results import Results, ResultsFile
from benchmarks.rig import Options, ProgramFailed, Rig
from benchmarks.stores import Postgres, Sqlite, Store

RESULTS = Path(__file__).resolve().parent / "results" / "http.json"
LOCAL = "local worker"
LATENCY = "enqueued to handed out"
QUEUE, OTHER_QUEUE = "default", "elsewhere"
WAIT_SECONDS = 30  # the longest that a pull may wait
NOBODY_SECONDS = 5  # of quiet, with nobody there
CLEAR = "DELETE FROM jobs_app_job"
PRESENT = "SELECT count(*) FROM jobs_app_workerstate WHERE substr(id, 1, 5) = 'idle-'"
PRESENT_SECONDS = 30
CALL_PERCENTILES = (50, 95)
PER_SECOND, CONNECTIONS = "/s", "connections"


class Measuring:
    """One call of this benchmark on one store."""

    def __init__(self, store: Store, options: argparse.Namespace, folder: Path) -> None:
        self.work = "http" if isinstance(store, Postgres) else "http sqlite"
        self.results = Results()
        self._store, self._options, self._folder = store, options, folder
        self._local, self._remote = Rig(OURS, store, folder), Rig(OURS_OVER_HTTP, store, folder)
        self._web = Web(processes=options.processes, threads=options.threads)
        quiet = 2 if isinstance(store, Postgres) else 0
        self._progress = Progress((4 + quiet + 2 * len(options.clients)) * options.repeat)

    def all(self) -> None:
        """The local worker first and last: what the machine does by itself in between is then in its figure too."""
        for _ in range(self._options.repeat):
            self.take(LOCAL, self._drain_locally)
            self.take(f"{LOCAL}, latency", self._latency_locally)
            with self._serving() as site:
                self._cost_of_waiting(0)
                self._drain_remotely(site)
            with self._serving() as site, self._idle(site):
                self._cost_of_waiting(self._options.idle)
                self._drain_remotely(site, beside_idle=True)
            self.take("latency", self._latency_remotely)
            self.take(LOCAL, self._drain_locally)
        self._progress.close()

    def take(self, title: str, act: Callable[[], list[Figure]]) -> None:
        """One that fails costs only itself."""
        self._progress.begin(title)
        try:
            figures = act()
        except Exception as error:
            self.results.failed(self.work, title, error)
            self._progress.end(f"failed: {error}")
        else:
            self.results.add(figures)
            self._progress.end(", ".join(f"{told(each.value, each.unit)} {each.unit}" for each in figures))

    def _drain_locally(self) -> list[Figure]:
        drain = Drain(jobs=self._options.local_jobs)
        self._local.restore_backlog(drain.jobs)
        return [drain_figure(self._local, drain, work=self.work, case=LOCAL)]

    def _drain_remotely(self, site: Site, *, beside_idle: bool = False) -> None:
        for clients in self._options.clients:
            alone = told_clients(clients)
            case, beside = (f"{alone} beside {self._options.idle} idle", alone) if beside_idle else (alone, LOCAL)
            self.take(case, partial(self._drain, site, clients, case, beside))

    def _drain(self, site: Site, clients: int, case: str, beside: str) -> list[Figure]:
        """The server stays, so the jobs are made in its database. What an earlier drain left there goes."""
        self._store.run(CLEAR, {})
        self._local.fill(self._options.jobs)
        self._store.settle()
        calls = Calls(self._calls)
        drain = Drain(
            jobs=self._options.jobs,
            processes=clients,
            options=site.for_client(calls.path, name="busy", queue=QUEUE),
            cap_seconds=self._options.cap,
        )
        rate = drain_figure(self._remote, drain, work=self.work, case=case, beside=beside)
        return [rate, *call_figures(self._remote, calls, work=self.work, case=case, beside=beside)]

    def _latency_locally(self) -> list[Figure]:
        self._local.restore_schema()
        return self._latency(self._local, f"{LOCAL}, {LATENCY}")

    def _latency_remotely(self) -> list[Figure]:
        """From a server of its own: a pull that waits goes on when its worker is gone, and would take another's job."""
        with self._serving() as site:
            waiting = site.for_client(Calls(self._calls).path, name="busy", queue=QUEUE, wait=WAIT_SECONDS)
            return self._latency(self._remote, LATENCY, waiting)

    def _latency(self, rig: Rig, case: str, options: Options = None) -> list[Figure]:
        asked = self._options.latency_jobs
        waits = latency.measure(rig, options=options, jobs=asked, gap=self._options.gap)
        note = "" if len(waits) == asked else f"{len(waits)} of {asked} jobs started"
        return [
            rig.figure(
                f"{case}, p{percent}",
                percentile(waits, percent),
                MILLISECONDS,
                work=self.work,
                beside=f"{LOCAL}, {LATENCY}, p{percent}" if options else "",
                note=note,
            )
            for percent in latency.PERCENTILES
        ]

    def _cost_of_waiting(self, idle: int) -> None:
        """SQLite counts nothing."""
        if isinstance(self._store, Postgres):
            store, seconds = self._store, self._options.quiet if idle else NOBODY_SECONDS
            self.take(
                f"{idle} idle alone",
                lambda: cost_figures(self._remote, idle_cost(store, seconds), idle=idle, work=self.work),
            )

    @contextmanager
    def _serving(self) -> Iterator[Site]:
        self._remote.restore_schema()
        with serving(self._web, self._store, self._folder) as site:
            yield site

    @contextmanager
    def _idle(self, site: Site) -> Iterator[None]:
        """Workers that wait for what does not come, one thread of one process each."""
        count, starts = self._options.idle, self._remote.starts(0)
        environment = site.for_client(
            Calls(self._calls).path, name="idle", queue=OTHER_QUEUE, wait=WAIT_SECONDS, waiters=count
        )
        with self._remote.workers(1, starts, options=environment) as workers:
            if not workers.wait_until(lambda: self._store.count(PRESENT, {}) >= count, PRESENT_SECONDS):
                raise ProgramFailed(f"{count} idle workers were not there within {PRESENT_SECONDS} s")
            time.sleep(latency.IDLE_SECONDS)
            yield

    @property
    def _calls(self) -> Path:
        return self._folder / "calls.bin"


def call_figures(rig: Rig, calls: Calls, *, work: str, case: str, beside: str) -> list[Figure]:
    """Of the calls that moved a job."""
    took = {"pull": calls.pulls(), "report": calls.reports()}
    return [
        rig.figure(
            f"{case}, {call} p{percent}",
            percentile(values, percent),
            MILLISECONDS,
            work=work,
            beside=f"{beside}, {call} p{percent}",
        )
        for call, values in took.items()
        if values
        for percent in CALL_PERCENTILES
    ]


def cost_figures(rig: Rig, cost: IdleCost, *, idle: int, work: str) -> list[Figure]:
    told_costs = [
        ("transactions", cost.transactions, PER_SECOND),
        ("new connections", cost.sessions, PER_SECOND),
        ("connections held", cost.held, CONNECTIONS),
        ("connections at most", cost.most, CONNECTIONS),
    ]
    return [rig.figure(f"{idle} idle alone, {what}", value, unit, work=work) for what, value, unit in told_costs]


def told_clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count} clients"


def main() -> int:
    options = arguments()
    url = None if options.sqlite else os.environ["DATABASE_URL"]
    about = {
        "machine": machine.facts(url),
        "plan": {name: value for name, value in vars(options).items() if name not in ("sqlite", "out")},
        "web": f"gunicorn {version('gunicorn')}, gthread, {options.processes} processes of {options.threads} threads",
    }
    with TemporaryDirectory(prefix="jobs-app-bench-") as name:
        store = Postgres(url) if url else Sqlite(Path(name))
        measuring = Measuring(store, options, Path(name))
        try:
            measuring.all()
            ResultsFile(options.out, about).store_figures(measuring.work, measuring.results)
        finally:
            print(measuring.results.table(), flush=True)
            store.forget_all()
    return 1 if measuring.results.failures else 0


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    add = parser.add_argument
    add("--sqlite", action="store_true", help="on an SQLite file instead of PostgreSQL")
    add("--clients", type=_numbers, default=[1, 4, 8], help="remote workers, each a process: as 1,4,8")
    add("--jobs", type=int, default=2_000, help="of a drain over HTTP")
    add("--local-jobs", type=int, default=20_000, help="of a drain by the local worker, which is so much faster")
    add("--cap", type=float, default=8, help="seconds after which a drain over HTTP is ended")
    add("--idle", type=int, default=50, help="workers that wait on another queue")
    add("--quiet", type=int, default=WAIT_SECONDS, help="seconds for which their cost is counted")
    add("--latency-jobs", type=int, default=latency.JOBS)
    add("--gap", type=float, default=30, help="milliseconds from one of these to the next")
    add("--processes", type=int, default=2, help="of the web server")
    add("--threads", type=int, default=64, help="of each of them")
    add("--repeat", type=int, default=1, help="runs of each case; the median is told")
    add("--out", type=Path, default=RESULTS)
    options = parser.parse_args(given)
    if options.threads < options.idle + max(options.clients):
        parser.error("--threads must be as many as all workers together: all of them may come to one process")
    if not options.sqlite and not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        parser.error("DATABASE_URL must name a PostgreSQL; `python -m jobsite.localpg run --` before it starts one")
    return options


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
