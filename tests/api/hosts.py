"""Real processes around one database: a web server, remote workers, local workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from jobsite.processes import free_port
from tests.waiting import until
from tests.worker.harness import Ledger, ends_with_us

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"


class Hosts:
    """Started piece by piece; everything that was started ends with `stop`."""

    def __init__(self, environment: dict[str, str], folder: Path, token: str) -> None:
        self.folder = folder
        self.token = token
        self.ledger = Ledger(folder / "ledger")
        self.gate = folder / "gate"
        own = {"DJANGO_SETTINGS_MODULE": "tests.api.settings", "LEDGER": str(self.ledger.path), "GATE": str(self.gate)}
        self.environment = {**environment, **own, "JOBS_TOKEN": token, "PYTHONUNBUFFERED": "1"}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.port = free_port(HOST, 0)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/jobs/"

    def start_web(self, **variables: str) -> subprocess.Popen[bytes]:
        address = f"{HOST}:{self.port}"
        child = self._start("web", "-m", "django", "runserver", address, "--noreload", "--skip-checks", **variables)
        until(lambda: self._answers(child), seconds=60)
        return child

    def start_gunicorn(self, **variables: str) -> subprocess.Popen[bytes]:
        """One process with threads, as a host would serve pulls that wait."""
        given = ("--bind", f"{HOST}:{self.port}", "--worker-class", "gthread", "--threads", "4")
        wsgi = "django.core.wsgi:get_wsgi_application()"
        child = self._start("gunicorn", "-m", "gunicorn", *given, "--no-control-socket", wsgi, **variables)
        until(lambda: self._answers(child), seconds=60)
        return child

    def start_remote(self, handler: str, *arguments: str, queues: str = "leads") -> subprocess.Popen[bytes]:
        """The client as an operator starts it."""
        given = ("--url", self.url, "--queues", queues, "--wait", "5", "-v", *arguments)
        return self._start("remote", "-m", "jobs_app.client", *given, f"tests.api.remote_handlers:{handler}")

    def start_local(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self._start("local", "-m", "django", "runworker", "--poll", "0.1", *arguments)

    def call(self, path: str, body: dict[str, Any], token: str = "") -> tuple[int, dict[str, Any]]:
        """One request on a connection of its own."""
        connection = HTTPConnection(HOST, self.port, timeout=60)
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"/jobs/api/{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def pull(self, worker: str = "by-hand", **asked: Any) -> dict[str, Any]:
        status, told = self.call("pull_job", {"worker_id": worker, **asked})
        assert status == 200, told
        return told

    def logs(self) -> str:
        return "\n".join(f"---- {path.name}\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def stop(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        log = self.folder / f"{name}-{len(self.processes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*ends_with_us(), sys.executable, *arguments],
                cwd=ROOT,
                env={**self.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _answers(self, child: subprocess.Popen[bytes]) -> bool:
        assert child.poll() is None, f"the web server ended:\n{self.logs()}"
        try:
            return self.call("pull_job", {}, token="none")[0] == 401
        except OSError:
            return False
