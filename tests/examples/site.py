"""The demo site as its operator has it: `manage.py` commands and the examples' own programs, as real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from jobsite.processes import free_port
from tests.waiting import until
from tests.worker.harness import ends_with_us

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
PATIENCE_SECONDS = 60
QUICK = {  # to notice what happened
    "JOB_WORKER_POLL_SECONDS": "0.1",
    "JOBS_RECOVER_SECONDS": "0.5",
    "JOB_SCHEDULER_POLL_SECONDS": "1",
    "LEASE_SEC_DEFAULT": "10",  # a busy machine may keep a worker waiting for some seconds
}


class Program:
    """One process and what it wrote."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*ends_with_us(), *command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for_log(self, text: str) -> str:
        """Wait until it has said so, and give all that it said."""

        def has_said() -> bool:
            assert self.process.poll() is None or text in self.log(), f"it ended:\n{self.log()}"
            return text in self.log()

        until(has_said, seconds=PATIENCE_SECONDS)
        return self.log()

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """As a power cut does: at once, with all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        """TERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


class Site:
    """Started piece by piece; everything that was started ends with `stop`."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        own = {"DJANGO_SETTINGS_MODULE": "jobsite.settings", "SECRET_KEY": "for tests only", "ALLOWED_HOSTS": HOST}
        self.environment = {**QUICK, **environment, **own, "PYTHONUNBUFFERED": "1"}
        self.programs: list[Program] = []

    def start(self, *arguments: str, **variables: str) -> Program:
        """Python with these arguments."""
        environment = {**self.environment, **variables}
        log = self.folder / f"{len(self.programs)}.log"
        self.programs.append(Program([sys.executable, *arguments], environment, log))
        return self.programs[-1]

    def start_program(self, module: str, address: str) -> str:
        """A program of an example, such as its gateway; its URL, which the others get in this variable."""
        program = self.start("-m", module)
        url = re.search(r"http://\S+/", program.wait_for_log("http://"))[0]
        self.environment[address] = url
        return url

    def start_web(self, *, script: Sequence[str] = ("manage.py",), **variables: str) -> str:
        """Its URL. `script` may be one that does as manage.py does."""
        url = f"http://{HOST}:{free_port(HOST, 0)}"
        web = self.start(*script, "runserver", url.removeprefix("http://"), "--noreload", **variables)

        def answers() -> bool:
            assert web.process.poll() is None, f"the web server ended:\n{web.log()}"
            with suppress(URLError), urlopen(f"{url}/admin/login/") as answer:
                return answer.status == 200
            return False

        until(answers, seconds=PATIENCE_SECONDS)
        return url

    def start_worker(self, *arguments: str, **variables: str) -> Program:
        """Up and ready to take jobs."""
        worker = self.start("manage.py", "runworker", *arguments, **variables)
        worker.wait_for_log(" slots\n")
        return worker

    def start_scheduler(self, *arguments: str, **variables: str) -> Program:
        return self.start("manage.py", "runscheduler", *arguments, **variables)

    def manage(self, *arguments: str, at: datetime | None = None, code: int = 0, **variables: str) -> str:
        """`manage.py` to its end, which must have this exit code; what it wrote. `at` a moment, if one is given: then
        the clock that decides what is due stands there for this process."""
        script = ["manage.py"] if at is None else ["-m", "tests.examples.at", at.isoformat()]
        ended = subprocess.run(
            [sys.executable, *script, *arguments],
            cwd=ROOT,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert ended.returncode == code, ended.stdout
        return ended.stdout

    def logs(self) -> str:
        return "\n".join(f"---- {path.name}\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def stop(self) -> None:
        for program in self.programs:
            program.kill()
