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

import pytest

from tests.jobsite.demo import ROOT, STOP_SECONDS, Demo, running_demo
from tests.waiting import until

# Each example does its work, and where one of its runs is meant to fail, it does.
LIVELY = {
    ("greet", "succeeded"),
    ("send-invoice", "failed"),
    ("deal", "succeeded"),
    ("retrieval", "succeeded"),
    ("find-leads", "succeeded"),
    ("send-welcome-email", "succeeded"),
    ("document-evaluation", "succeeded"),
    ("document-evaluation", "failed"),
    ("charge", "succeeded"),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One for all tests: the last one stops it."""
    with running_demo(tmp_path_factory.mktemp("demo")) as started:
        yield started
    sys.stdout.write(started.output)  # shown where the last test failed


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def page_at(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return answer.read().decode()


def test_the_demo_prints_a_login_that_works(demo: Demo) -> None:
    address = until(demo.address)
    name, password = re.search(r"Log in as +(\S+) +password +(\S+)", demo.output).groups()

    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    form = opener.open(f"{address}admin/login/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
    fields = f"username={name}&password={password}&csrfmiddlewaretoken={token}&next=/admin/".encode()
    assert "Site administration" in opener.open(f"{address}admin/login/", fields).read().decode()


def test_a_part_that_is_killed_is_started_again(demo: Demo) -> None:
    until(demo.address)
    until(lambda: ("call-shaky-service", "succeeded") in demo.ended())  # tried again: the worker is not new any more
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


def test_the_demo_shows_its_jobs_at_work_and_ctrl_c_ends_all_of_it(demo: Demo) -> None:
    address = until(demo.address)
    until(lambda: demo.ended() >= LIVELY, seconds=90)
    assert "/admin/jobs_app/run/" in page_at(f"{address}now/")
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
