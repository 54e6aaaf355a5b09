"""Workers for tests: real processes that may be killed, and workers in this process that are quick to start."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from asgiref.sync import SyncToAsync
from django.db import connections

from jobs_app import logs
from jobs_app.handles import RunHandle
from jobs_app.models import Job, JobAttempt
from jobs_app.worker.loop import Worker, WorkerOptions
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"poll": 0.05, "grace": 10, "recover_every": 0.2, "concurrency": 4, "listen": False}


class Ledger:
    """What handlers wrote down themselves."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def lines(self, what: str | None = None) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.text().splitlines() if line.endswith("}")]
        return [line for line in found if what is None or line["what"] == what]

    def wait(self, what: str, count: int = 1) -> list[dict[str, Any]]:
        return until(lambda: len(found := self.lines(what)) >= count and found, every=0.02)


class WorkerProcess:
    """`manage.py runworker` as an operating system sees it."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str], log: Path, wrapper: list[str]) -> None:
        self.log_path = log
        command = [*ends_with_us(), *wrapper, sys.executable, "-m", "django", "runworker", *arguments]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def wait_for_log(self, text: str, count: int = 1) -> str:
        def said() -> bool:
            assert self.process.poll() is None or self.log().count(text) >= count, f"it ended:\n{self.log()}"
            return self.log().count(text) >= count

        until(said, every=0.02)
        return self.log()

    def wait_for_start(self) -> WorkerProcess:
        self.wait_for_log(" slots\n")
        return self

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def term(self) -> None:
        self.signal(signal.SIGTERM)

    def wait(self, seconds: float = 30) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker is still there after {seconds} s:\n{self.log()}") from None

    def stop(self) -> str:
        """TERM, a clean end; the log."""
        self.term()
        assert self.wait() == 0, self.log()
        return self.log()

    def end(self) -> None:
        """Whatever state it is in, and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()

    def children(self) -> list[int]:
        """Worker processes under this supervisor."""
        return [pid for pid in children_of(self.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def ends_with_us() -> list[str]:
    """In front of a command: it is killed when the tests are, where the system can do that."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def children_of(parent: int) -> list[int]:
    """Whichever of its threads started them."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(status.parent.name))
    return sorted(found)


@contextmanager
def working(**options: Any) -> Iterator[Worker]:
    """A worker in this process; when the block ends everything it had started has ended too."""
    worker = Worker(WorkerOptions(**QUICK | options))
    worker.start()
    try:
        yield worker
    finally:
        worker.drain()
        for loop in (worker.claimer, worker.finisher, worker.beat, worker.listener):
            if loop is not None:
                loop.join(20)
                assert not loop.is_alive(), f"{loop.name} did not end"
        SyncToAsync.single_thread_executor.submit(connections.close_all).result(20)
        logs.name_worker("")


def finished(*runs: RunHandle, seconds: float = 30) -> list[str]:
    """The states of the runs, once they have ended."""
    for run in runs:
        until(lambda run=run: run.refresh().is_finished, seconds=seconds, every=0.02)
    return [run.status for run in runs]


def outcomes(run: RunHandle) -> list[str]:
    return list(JobAttempt.objects.filter(job_id=run.id).order_by("number").values_list("outcome", flat=True))


def state(run: RunHandle) -> str | None:
    """As stored; None when the job is gone into history."""
    return Job.objects.filter(pk=run.id).values_list("state", flat=True).first()


def is_gone(pid: int) -> bool:
    """No such process, or only its zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
