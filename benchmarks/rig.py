"""One program on one store: its commands, its worker processes, and the states it is measured from."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from benchmarks.figures import Figure
from benchmarks.program_description import Program
from benchmarks.starts import Starts
from benchmarks.stores import Store

ROOT = Path(__file__).resolve().parent.parent
COMMAND_SECONDS = 900  # a million jobs, enqueued one by one, take less
STOP_SECONDS = 3  # for a worker that is told to stop; then it is killed
MEBIBYTE = 1024 * 1024

Options = Mapping[str, str] | None  # BENCH_* variables of a program


class ProgramFailed(Exception):
    """A measured program ended when it should not have; the end of its log says why."""


class Rig:
    def __init__(self, program: Program, store: Store, folder: Path) -> None:
        self.program = program
        self.store = store
        self._folder = folder
        self._log = folder / f"{program.name}.log"

    def restore(self, state: str, make: Callable[[], None], *, analyze: bool = True) -> None:
        """Put the store into this state, which is made the first time and copied from then on."""
        name = "_".join([self.program.name, *state.split()]).replace("-", "")
        if not self.store.is_kept(name):
            make()
            self.store.settle(analyze=analyze)
            self.store.keep(name)
        self.store.restore(name)
        self.store.settle(analyze=False)  # a copy has the statistics of what it is a copy of

    def restore_schema(self, profile: str = "tuned") -> None:
        """The program's tables, as after its installation."""

        def make() -> None:
            self.store.clear()
            self.call("setup", profile=profile)

        self.restore(f"schema {profile}", make, analyze=False)

    def restore_backlog(self, jobs: int, profile: str = "tuned", *, options: Options = None) -> None:
        """`jobs` jobs wait and there is nothing else. Made once, by the program itself."""
        made_by = profile if self.program.backlog_per_profile else "tuned"

        def make() -> None:
            self.restore_schema(made_by)
            self.fill(jobs, profile=made_by, options=options)

        self.restore(" ".join(["backlog", str(jobs), made_by, *sorted((options or {}).values())]), make)

    def fill(self, jobs: int, *, start: int = 0, profile: str = "tuned", options: Options = None) -> None:
        """Enqueue in the fastest way the program has."""
        if self.enqueue("bulk", jobs, start=start, profile=profile, options=options) is None:
            self.enqueue("single", jobs, start=start, profile=profile, options=options)

    def enqueue(self, how: str, jobs: int, *, start: int = 0, **said: Any) -> float | None:
        """The seconds it took; None where the program has no such call."""
        return self.call(how, jobs, start, **said)["seconds"]

    def call(self, *command: object, profile: str = "tuned", options: Options = None) -> dict[str, Any]:
        """Run a command of the program to its end and give what it printed last."""
        environment = self._environment(profile, options, self._folder / "no-starts")
        with self._log.open("ab") as log:
            ran = subprocess.Popen(
                self._argv(*command), env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, process_group=0
            )
            try:
                out, _ = ran.communicate(timeout=COMMAND_SECONDS)
            finally:
                _kill_group(ran)
        if ran.returncode:
            raise ProgramFailed(f"{self.program.name} {command[0]} ended with {ran.returncode}:\n{self._end_of_log()}")
        lines = out.decode().split("\n")
        answers = [line for line in lines if line.startswith("{")]
        return json.loads(answers[-1]) if answers else {}

    @contextmanager
    def workers(
        self, count: int, starts: Starts, *, profile: str = "tuned", options: Options = None
    ) -> Iterator[Workers]:
        """Worker processes, each in a process group of its own, gone at the end whatever happens."""
        environment = self._environment(profile, options, starts.path)
        started: list[subprocess.Popen[bytes]] = []
        with self._log.open("ab") as log:
            try:
                while len(started) < count:
                    started.append(self._start_worker(environment, log))
                yield Workers(started, self)
            finally:
                stop(started)

    def starts(self, jobs: int) -> Starts:
        return Starts(self._folder / "starts.bin", jobs)

    def remaining(self, jobs: int, since: Any) -> int:
        """Jobs that are not settled yet."""
        left = 0
        if self.program.remaining:
            left += self.store.count(self.program.remaining, {"jobs": jobs, "since": since})
        if self.program.redis_remaining:
            left += self.store.waiting(self.program.redis_remaining)
        return left

    def figure(self, case: str, value: float, unit: str, *, work: str, beside: str = "", note: str = "") -> Figure:
        return Figure(
            work=work,
            case=case,
            program=self.program.name,
            store=self.store.kind,
            unit=unit,
            value=value,
            beside=beside,
            note=note,
        )

    def died(self) -> ProgramFailed:
        return ProgramFailed(f"a worker of {self.program.name} ended by itself:\n{self._end_of_log()}")

    def _start_worker(self, environment: dict[str, str], log: BinaryIO) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._argv("worker"),
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )

    def _argv(self, *command: object) -> list[str]:
        return [*self.program.argv(), *map(str, command)]

    def _environment(self, profile: str, options: Options, starts: Path) -> dict[str, str]:
        ours = {"BENCH_PROFILE": profile, "BENCH_TIMES": str(starts), "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **self.program.environment, **self.store.environment(), **ours, **(options or {})}

    def _end_of_log(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])


class Workers:
    def __init__(self, processes: list[subprocess.Popen[bytes]], rig: Rig) -> None:
        self._processes = processes
        self._rig = rig

    def wait_until(self, is_so: Callable[[], bool], seconds: float, *, look_every: float = 0.02) -> bool:
        """False when the time was over before. It is an error that a worker ends meanwhile."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if any(process.poll() is not None for process in self._processes):
                raise self._rig.died()
            if time.monotonic() > deadline:
                return False
            time.sleep(look_every)
        return True

    def mebibytes(self) -> float:
        """Resident memory of all processes and their children. Pages that they share count for each of them."""
        resident = 0
        for process in self._processes:
            parent = psutil.Process(process.pid)
            resident += sum(each.memory_info().rss for each in [parent, *parent.children(recursive=True)])
        return resident / MEBIBYTE


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Each leads a group of its own, which goes with it."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(deadline - time.monotonic(), 0.01))
        _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """The group outlives its leader where children were started: nothing of it stays."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
