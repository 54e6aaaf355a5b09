"""`python -m jobs_app.client` as an operating system sees it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.server import (
    API_TOKEN,
    CUT,
    DRAINING,
    EMPTY,
    LEASE_TOKEN,
    PULL,
    REPORT,
    Request,
    ScriptedServer,
    a_job,
    problem,
)
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
BARE = [sys.executable, "-S"]  # without what is installed beside Python: no Django
HANDLERS = """
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from {module} import Permanent

not_callable = 7

def ok(job):
    return job.payload["city"]

def closed(job):
    raise Permanent("closed")

def hold(job):
    Path("began").touch()
    while not Path("gate").exists():
        time.sleep(0.02)

def hold_in_pool(job):  # whose threads Python waits for as it ends
    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold, job).result()
"""


class Process:
    def __init__(self, command: list[str], folder: Path, **environment: str) -> None:
        self.output = folder / "output"
        with self.output.open("wb") as output:
            self.popen = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)

    def code(self) -> int:
        return self.popen.wait(30)

    def text(self) -> str:
        return self.output.read_text()


Run = Callable[..., Process]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handlers.py").write_text(HANDLERS.format(module="jobs_app.client"))
    return tmp_path


@pytest.fixture
def run(server: ScriptedServer, folder: Path) -> Iterator[Run]:
    """Start the command; what a test leaves behind is killed."""
    started: list[Process] = []

    def run(
        *arguments: str, url: str = server.url, command: tuple[str, ...] = ("-m", "jobs_app.client"), **environment: str
    ) -> Process:
        environment = {"JOBS_TOKEN": API_TOKEN, "PYTHONPATH": str(ROOT), **environment}
        called = [*BARE, *command, "--url", url, "--queues", "leads", *arguments]
        started.append(Process(called, folder, **environment))
        return started[-1]

    yield run
    for process in started:
        process.popen.kill()
        process.popen.wait()


def begun(server: ScriptedServer, folder: Path, run: Run, *arguments: str, handler: str = "hold") -> Process:
    """A process whose handler works on a job and does not end."""
    server.will_answer(PULL, a_job())
    process = run(f"handlers:{handler}", *arguments)
    until((folder / "began").exists, every=0.02)
    return process


def test_it_works_off_what_is_due_without_django(server: ScriptedServer, run: Run) -> None:
    server.will_answer(PULL, a_job(), a_job(payload={"city": "Kiel"}))
    process = run("--once", "--job-types", "scrape, send", "--worker-id", "host-1", "--lease", "60", "handlers:ok")
    assert process.code() == 0, process.text()
    assert [body["result"] for body in server.sent(REPORT)] == ["Bremen", "Kiel"]
    asked = {"queues": ["leads"], "job_types": ["scrape", "send"], "lease_sec": 60, "wait_sec": 2, "concurrency": 1}
    assert server.sent(PULL) == [{"worker_id": "host-1", **asked}] * 3


@pytest.mark.parametrize("name", ["client", "jobs_client"])
def test_the_folder_alone_is_enough(name: str, server: ScriptedServer, run: Run, folder: Path) -> None:
    shutil.copytree(ROOT / "jobs_app" / "client", folder / name)
    (folder / "handlers.py").write_text(HANDLERS.format(module=name))
    server.will_answer(PULL, a_job())
    process = run("--once", "handlers:closed", command=("-m", name), PYTHONPATH="")
    assert process.code() == 0, process.text()
    assert server.sent(REPORT)[0]["permanent"] is True
    assert server.sent(REPORT)[0]["error_class"] == f"{name}.errors.Permanent"


def test_an_error_that_a_handler_imports_is_the_one_that_the_loop_knows(server: ScriptedServer, run: Run) -> None:
    server.will_answer(PULL, a_job())
    assert run("--once", "handlers:closed").code() == 0
    assert server.sent(REPORT)[0]["permanent"] is True


def test_importing_the_client_imports_nothing_of_django_or_the_app() -> None:
    code = (
        "import sys; sys.modules['django'] = None; import jobs_app.client; "
        "print({name for name in sys.modules if name.startswith('jobs_app') and '.client' not in name})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{'jobs_app'}\n", "")


def test_the_token_may_be_in_a_file(server: ScriptedServer, run: Run, folder: Path) -> None:
    (folder / "token").write_text(f"{API_TOKEN}\n")
    assert run("--once", "--token-file", "token", "handlers:ok", JOBS_TOKEN="").code() == 0
    assert server.requests[0].headers["Authorization"] == f"Bearer {API_TOKEN}"


@pytest.mark.parametrize(
    ("arguments", "given", "told"),
    [
        (["handlers:ok"], {"JOBS_TOKEN": ""}, "no API token: set JOBS_TOKEN"),
        (["handlers:ok"], {"JOBS_TOKEN": "two words"}, "the token must be one word"),
        (["--token-file", "none", "handlers:ok"], {}, "No such file or directory: 'none'"),
        (["handlers:ok"], {"url": "host/jobs"}, "the url must be like https://host/jobs/"),
        (["nowhere:ok"], {}, "No module named 'nowhere'"),
        (["handlers"], {}, "handlers names no function; write it as module:function"),
        (["handlers:none"], {}, "handlers:none names no function"),
        (["handlers:not_callable"], {}, "handlers:not_callable names no function"),
        (["--concurrency", "0", "handlers:ok"], {}, "concurrency is 1 or more"),
        (["--lease", "soon", "handlers:ok"], {}, "--lease: invalid int value: 'soon'"),
        ([], {}, "the following arguments are required: module:handler"),
    ],
)
def test_wrong_use_is_told_and_ends_with_2(
    arguments: list[str], given: dict[str, str], told: str, server: ScriptedServer, run: Run
) -> None:
    process = run(*arguments, **given)
    assert process.code() == 2
    assert told in process.text()
    assert "Traceback" not in process.text()
    assert server.requests == []


def test_a_token_that_is_refused_ends_it_with_2(server: ScriptedServer, run: Run) -> None:
    server.will_answer(PULL, problem(401, "This token was revoked; make a new one."))
    process = run("handlers:ok")
    assert process.code() == 2
    assert "401: This token was revoked; make a new one." in process.text()


def test_a_worker_that_is_drained_ends_with_0(server: ScriptedServer, run: Run) -> None:
    server.will_answer(PULL, a_job(), DRAINING)
    assert run("handlers:ok").code() == 0
    assert len(server.sent(REPORT)) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_what_runs_end(
    number: signal.Signals, server: ScriptedServer, run: Run, folder: Path
) -> None:
    process = begun(server, folder, run)
    process.popen.send_signal(number)
    process.popen.send_signal(number)  # at once: the same stop, said twice
    until(lambda: "stopping: what runs has 25 s to end" in process.text(), every=0.02)
    (folder / "gate").touch()
    assert process.code() == 0
    assert [body.get("done") for body in server.sent(REPORT)] == [True]
    assert len(server.sent(PULL)) == 1


def test_a_signal_ends_an_idle_worker_once_its_pull_is_answered(server: ScriptedServer, run: Run) -> None:
    processes: list[Process] = []

    def stop_meanwhile(request: Request) -> dict[str, Any]:
        processes[0].popen.terminate()
        until(lambda: "stopping" in processes[0].text(), every=0.02)
        return EMPTY

    server.will_answer(PULL, lambda request: until(lambda: processes, every=0.02) and stop_meanwhile(request))
    processes.append(run("handlers:ok"))
    assert processes[0].code() == 0
    assert len(server.sent(PULL)) == 1


@pytest.mark.parametrize("handler", ["hold", "hold_in_pool"])
def test_what_outlives_the_grace_is_given_back_and_ends_with_the_process(
    handler: str, server: ScriptedServer, run: Run, folder: Path
) -> None:
    process = begun(server, folder, run, "--grace", "0", handler=handler)
    process.popen.terminate()
    assert process.code() == 0
    assert [body.get("release") for body in server.sent(REPORT)] == [True]


def test_a_signal_after_two_seconds_forces_the_release_and_exits_1(
    server: ScriptedServer, run: Run, folder: Path
) -> None:
    process = begun(server, folder, run, "--grace", "60")

    def has_ended() -> bool:
        process.popen.terminate()
        return process.popen.poll() is not None

    until(has_ended)
    assert process.code() == 1
    assert [body.get("release") for body in server.sent(REPORT)] == [True]


def test_nothing_that_it_prints_has_a_token_in_it(server: ScriptedServer, run: Run) -> None:
    server.will_answer(PULL, CUT, problem(503, "away"), a_job(), a_job())
    server.will_answer(REPORT, CUT, problem(422, "bad"), problem(409, "stale"))
    process = run("--once", "-v", "handlers:closed")
    assert process.code() == 0
    assert "lost its lease" in process.text()
    assert "DEBUG pull: a job" in process.text()
    assert API_TOKEN not in process.text()
    assert LEASE_TOKEN not in process.text()
