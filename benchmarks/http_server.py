"""A real web server in front of a store, on a port of 127.0.0.1 that the system chooses, for as long as needed."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rig import ROOT, ProgramFailed, stop
from benchmarks.stores import Store

HOST = "127.0.0.1"
START_SECONDS = 30
COMMAND_SECONDS = 60
LOG_LINES = 15
TOKEN = ["jobs", "token", "create", "benchmark", "--scopes", "pull,report"]


@dataclass(frozen=True, kw_only=True)
class Web:
    """What serves: so many processes of so many threads."""

    processes: int
    threads: int


@dataclass(frozen=True)
class Site:
    """Where it is, and a token for it."""

    url: str
    token: str

    def for_client(self, calls: Path, *, name: str, queue: str, wait: int = 0, waiters: int = 1) -> dict[str, str]:
        """The environment of `http_client`."""
        return {
            "BENCH_SERVER": self.url,
            "BENCH_TOKEN": self.token,
            "BENCH_CALLS": str(calls),
            "BENCH_NAME": name,
            "BENCH_QUEUE": queue,
            "BENCH_WAIT": str(wait),
            "BENCH_WAITERS": str(waiters),
        }


@contextmanager
def serving(web: Web, store: Store, folder: Path) -> Iterator[Site]:
    """All processes of it are there when this begins, and gone when it ends."""
    environment = {
        **os.environ,
        **store.environment(),
        "DJANGO_SETTINGS_MODULE": "benchmarks.http_settings",
        "BENCH_APPS": "jobs_app",
        "BENCH_WEB_PROCESSES": str(web.processes),
        "BENCH_WEB_THREADS": str(web.threads),
    }
    token, log = _new_token(environment), folder / "web.log"
    with socket.create_server((HOST, 0)) as listening:
        server = _start(listening, environment, log)
        try:
            port = listening.getsockname()[1]
            _wait_for_answer(port, server, log)
            yield Site(f"http://{HOST}:{port}/jobs/", token)
        finally:
            stop([server])


def _start(listening: socket.socket, environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """The socket is ours and handed over, so that nobody takes the port in between."""
    number = listening.fileno()
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--config", "python:benchmarks.http_gunicorn"],
            env=environment | {"BENCH_SOCKET": str(number)},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            pass_fds=[number],
            process_group=0,
        )


def _wait_for_answer(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Any answer. Until there is one, the connection waits with the system."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        asking = http.client.HTTPConnection(HOST, port, timeout=1)
        try:
            asking.request("GET", "/")
            asking.getresponse()
            return
        except OSError:
            continue
        finally:
            asking.close()
    told = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
    raise ProgramFailed(f"the web server did not answer within {START_SECONDS} s:\n{told}")


def _new_token(environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "django", *TOKEN]
    made = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )
    if made.returncode:
        raise ProgramFailed(f"no token could be made:\n{made.stderr}")
    return made.stdout.strip()
