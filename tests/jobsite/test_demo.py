"""`make demo`, without the making: one command that shows the whole site and goes when told to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 10


@dataclass
class Demo:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text()

    def address(self) -> str:
        found = re.search(r"The admin +(http://\S+/)admin/", self.output)
        assert found or self.process.poll() is None, self.output
        return found[1] if found else ""

    def children(self) -> dict[str, int]:
        """Process ids by the name of their command."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "ppid=,pid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
        mine = [(int(pid), args) for parent, pid, args in rows if int(parent) == self.process.pid]
        known = ("runserver", "runworker", "runscheduler", "examples.", "jobs_app.client")
        return {word: pid for pid, args in mine for word in args.split() if word.startswith(known)}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    environment = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'demo.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "jobsite.settings",
        "DEBUG": "1",
        "PORT": "0",
    }
    command = [sys.executable, "-u", str(ROOT / "manage.py"), "demo"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    started = Demo(process, log)
    yield started
    if process.poll() is None:
        process.terminate()
        process.wait(STOP_SECONDS + 5)
    sys.stdout.write(started.output)  # shown where the test failed


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def page_at(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return answer.read().decode()


def test_the_demo_shows_its_jobs_at_work_and_ctrl_c_ends_all_of_it(demo: Demo) -> None:
    address = until(demo.address)
    until(lambda: "Hello, Ada!" in page_at(f"{address}now/"))
    assert "Django administration" in page_at(f"{address}admin/")
    assert re.search(r"Beside it +DEBUG=1 DATABASE_URL='sqlite:\S+' \S+ manage.py jobs status", demo.output)
    children = demo.children()
    assert {"runserver", "runworker", "runscheduler"} < set(children)

    asked = time.monotonic()
    os.killpg(demo.process.pid, signal.SIGINT)

    assert demo.process.wait(STOP_SECONDS) == 0, demo.output
    assert time.monotonic() - asked < STOP_SECONDS
    assert not any(map(is_alive, children.values()))
    assert "Traceback" not in demo.output


def test_the_demo_prints_a_login_that_works(demo: Demo) -> None:
    address = until(demo.address)
    name, password = re.search(r"Log in as +(\S+) +password +(\S+)", demo.output).groups()

    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    form = opener.open(f"{address}admin/login/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
    fields = f"username={name}&password={password}&csrfmiddlewaretoken={token}&next=/admin/".encode()
    assert "Site administration" in opener.open(f"{address}admin/login/", fields).read().decode()


def test_a_part_that_is_killed_is_started_again(demo: Demo) -> None:
    address = until(demo.address)
    until(lambda: "order 4711 is booked" in page_at(f"{address}now/"))  # tried again: the worker is not new any more
    killed = demo.children()["runworker"]
    os.kill(killed, signal.SIGKILL)

    until(lambda: demo.children().get("runworker", killed) != killed)
    assert "worker ended with exit code -9; it is started again." in demo.output


def test_without_debug_there_is_no_demo() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "jobsite.settings", "SECRET_KEY": "x", "DEBUG": "0"}
    refused = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo"], env=environment, capture_output=True, text=True, check=False
    )

    assert refused.returncode == 1
    assert "set DEBUG=1" in refused.stderr
