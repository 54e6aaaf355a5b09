"""`jobs top`."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights.live_view import LiveReader
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.management.screen import ENTER, LEAVE
from tests.by_hand import HandWorker
from tests.conftest import OTHERS
from tests.insights.planning import worker
from tests.lifecycle.rows import at, stored
from tests.management.calling import jobs, jobs_json
from tests.waiting import until

MANAGE = Path(__file__).parents[3] / "manage.py"


class Terminal:
    """`manage.py jobs top` in a terminal of 24 lines, as a person sees it."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.before = termios.tcgetattr(theirs)
        command = [sys.executable, str(MANAGE), "jobs", "top", "--every", "0.1", *arguments]
        self.child = subprocess.Popen(
            command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        self.theirs = theirs
        self.seen = ""

    def read(self) -> str:
        while select.select([self.ours], [], [], 0.02)[0]:
            self.seen += os.read(self.ours, 65536).decode(errors="replace")
        return self.seen

    def wait_for(self, text: str, times: int = 1) -> None:
        until(lambda: self.read().count(text) >= times, every=0.01)

    def press(self, key: str) -> None:
        os.write(self.ours, key.encode())

    def ended(self) -> int:
        until(lambda: self.read() is not None and self.child.poll() is not None, every=0.01)
        self.read()
        return int(self.child.returncode)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def environment(child_environment: dict[str, str]) -> dict[str, str]:
    hidden = ("COLUMNS", "LINES", "NO_COLOR")
    return {name: value for name, value in child_environment.items() if name not in hidden}


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    found: list[Terminal] = []
    yield found
    for each in found:
        each.close()


@pytest.mark.django_db
def test_where_nobody_can_watch_it_prints_one_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")

    @job(name="rates", queue="sync", max_attempts=1)
    def rates() -> None:
        raise ValueError("no rates today")

    with at(0):
        announce(connection, Presence(id="w", name="w-1", concurrency=4))
        rates.options(subject="eur").enqueue()
        HandWorker().work()
        stored(queue="mail")
        told, words = jobs("top")
        assert jobs("top", "--once") == (told, words)
    assert words == ""
    assert told.splitlines()[1:3] == [
        "All is well.",
        "1 waiting, 0 running, 0 retrying, 1 failed in the last hour, - in/min, - out/min",
    ]
    assert "ValueError: no rates today" in told
    assert "\x1b" not in told


@pytest.mark.django_db
def test_json_for_programs() -> None:
    with at(0):
        stored(2, queue="mail")
    with at(10):
        told = jobs_json("top", "--once")
    assert (told["schema"], told["at"], told["problem"]) == (1, "2026-01-01T12:00:10+00:00", None)
    assert (told["complete"], told["level"], told["findings"][0]["kind"]) == (True, "bad", "no_worker")
    assert (told["totals"]["waiting"], told["totals"]["failed_last_hour"]) == (2, 0)
    [mail] = told["queues"]
    assert (mail["queue"], mail["queued"], mail["oldest_wait_seconds"], mail["state"]) == ("mail", 2, 10.0, "unserved")
    assert (told["processes"], told["running"], told["failed"]) == ([], [], [])


@pytest.mark.django_db
def test_the_number_of_queries_does_not_depend_on_how_much_there_is(django_assert_num_queries: Any) -> None:
    with at(0):
        stored(queue="q")
        with CaptureQueriesContext(connection) as few:
            LiveReader(connection).read()
        for number in range(15):
            stored(3, queue="q")
            worker(f"w{number}", 1)
        with django_assert_num_queries(len(few)):
            LiveReader(connection).read()


@pytest.mark.django_db
def test_once_ends_with_75_where_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*given: Any) -> Any:
        raise OperationalError("refused")

    monkeypatch.setattr(LiveReader, "read", away)
    with pytest.raises(CommandError) as caught:
        jobs("top")
    assert caught.value.returncode == 75


@pytest.mark.parametrize(("end", "code"), [("q", 0), ("\x03", 130), ("TERM", 143)])
def test_it_is_drawn_in_place_and_the_terminal_is_as_before(
    end: str, code: int, environment: dict[str, str], opened: list[Terminal]
) -> None:
    stored(queue="mail")
    terminal = Terminal(environment)
    opened.append(terminal)
    if end == "\x03":  # a terminal sends it to the group in front of it
        terminal.wait_for("QUEUE", 3)
        terminal.child.send_signal(signal.SIGINT)
    elif end == "TERM":
        terminal.wait_for("QUEUE", 3)
        terminal.child.terminate()
    else:
        terminal.wait_for("QUEUE", 3)
        terminal.child.send_signal(signal.SIGTSTP)  # as Ctrl-Z does, which would leave the terminal as it is drawn
        terminal.press("x")
        terminal.press(end)
    assert terminal.ended() == code, terminal.seen
    assert terminal.seen.startswith(ENTER)
    assert terminal.seen.count(ENTER) == terminal.seen.count(LEAVE) == 1
    assert "\x1b[31mNo worker is alive, and jobs wait\x1b[0m" in terminal.seen
    assert "QUEUE" not in terminal.seen.partition(LEAVE)[2]
    assert termios.tcgetattr(terminal.theirs) == terminal.before


def test_no_color_is_respected(environment: dict[str, str], opened: list[Terminal]) -> None:
    terminal = Terminal(environment, "--no-color")
    opened.append(terminal)
    terminal.wait_for("QUEUE")
    terminal.press("q")
    assert terminal.ended() == 0
    assert "\x1b[1m" not in terminal.seen


@pytest.fixture
def stream() -> Iterator[Callable[[dict[str, str]], subprocess.Popen[str]]]:
    """`jobs top --format json`, in a process of its own."""
    started: list[subprocess.Popen[str]] = []
    command = [sys.executable, str(MANAGE), "jobs", "top", "--every", "0.1", "--format", "json"]

    def start(environment: dict[str, str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def interrupted(child: subprocess.Popen[str]) -> tuple[int, str]:
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=30)
    return child.returncode, words


def test_a_database_that_is_away_does_not_end_it(environment: dict[str, str], tmp_path: Path, stream: Any) -> None:
    """One that is not there yet, comes, and is seen."""
    folder = tmp_path / "later"
    away = environment | {"DATABASE_URL": f"sqlite:///{folder}/db.sqlite3"}
    child = stream(away)
    told = documents(child.stdout)
    for _ in range(2):
        assert next(told)["problem"].startswith("The database could not answer: ")
    folder.mkdir()
    subprocess.run([sys.executable, str(MANAGE), "migrate", "-v0"], env=away, check=True)
    found = next(each for each in told if not each["problem"])
    assert (found["level"], found["complete"]) == ("ok", True)
    assert interrupted(child) == (130, "CommandError: interrupted\n")


def test_a_connection_that_was_cut_is_made_anew(environment: dict[str, str], is_postgres: bool, stream: Any) -> None:
    if not is_postgres:
        pytest.skip("SQLite has no connection that a server could cut")
    child = stream(environment)
    told = documents(child.stdout)
    assert not next(told)["problem"]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}")
    assert next(each for each in told if each["problem"])["at"] is None
    assert next(each for each in told if not each["problem"])["complete"]
    assert interrupted(child)[0] == 130


def documents(stream: Any) -> Iterator[dict[str, Any]]:
    """One JSON document after the other, each of several lines."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if line == "}\n":
            yield json.loads("".join(lines))
            lines.clear()
    raise AssertionError("it ended")
