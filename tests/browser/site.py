"""A whole site for a browser to visit: web server, worker and scheduler, each a process on the test's database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from jobsite.processes import free_port
from tests.waiting import until
from tests.worker.harness import ends_with_us

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
PATIENCE_SECONDS = 60
STOP_SECONDS = 15


class Site:
    """Started piece by piece; everything that was started ends with `stop`."""

    def __init__(self, database_url: str, folder: Path, **variables: str) -> None:
        self._folder = folder
        self._gates = folder / "gates"
        self._gates.mkdir()
        self._environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
            "DATABASE_URL": database_url,
            "SHOP_GATES": str(self._gates),
            **variables,
        }
        self._children: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start_web(self) -> None:
        port = free_port(HOST, 0)
        self.url = f"http://{HOST}:{port}"
        child = self._start("web", "runserver", f"{HOST}:{port}", "--noreload", "--insecure", "--skip-checks")
        until(lambda: self._answers(child), seconds=PATIENCE_SECONDS)

    def start_worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self._start(f"worker-{len(self._children)}", "runworker", *arguments)

    def start_scheduler(self) -> None:
        self._start("scheduler", "runscheduler")

    def open_gate(self, name: str) -> None:
        """Let through the jobs that wait for it."""
        (self._gates / name).touch()

    def kill(self, child: subprocess.Popen[bytes]) -> None:
        """As a power cut does: nothing is given back, nobody is told."""
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def stop(self) -> None:
        for child in self._children:
            if child.poll() is None:
                child.terminate()
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(STOP_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def logs(self) -> str:
        """What all of them wrote, for the reader of a failure."""
        return "\n".join(f"---- {path.name}\n{path.read_text()}" for path in sorted(self._folder.glob("*.log")))

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [*ends_with_us(), sys.executable, "-m", "django", *arguments]
        with (self._folder / f"{name}.log").open("wb") as output:
            child = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._children.append(child)
        return child

    def _answers(self, child: subprocess.Popen[bytes]) -> bool:
        assert child.poll() is None, f"the web server ended:\n{self.logs()}"
        try:
            with urlopen(f"{self.url}/admin/login/") as answer:
                return answer.status == 200
        except URLError:
            return False
