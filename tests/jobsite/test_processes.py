"""Processes that live and end together."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from jobsite import processes as processes_module
from jobsite.processes import Processes, free_port
from tests.waiting import until

interrupt = partial(os.kill, os.getpid(), signal.SIGTERM)
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture(autouse=True)
def signals_restored() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


def test_the_end_of_one_is_told_with_its_name_and_exit_code() -> None:
    with Processes({"web": SLEEP, "worker": [sys.executable, "-c", "raise SystemExit(3)"]}) as processes:
        assert processes.wait() == "worker ended with exit code 3"


@pytest.mark.parametrize("end", ["raise SystemExit(0)", "os.kill(os.getpid(), 9)"], ids=["drained", "killed"])
def test_one_that_worked_for_a_while_is_started_anew_however_it_ended(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes_module, "SHORT_LIFE_SECONDS", 0)
    lives = tmp_path / "lives"
    lives.touch()
    worker = f"""
import os, sys, time
with open(sys.argv[1], "a") as lives:
    lives.write("x")
if os.path.getsize(sys.argv[1]) < 3:
    {end}
time.sleep(60)
"""
    with Processes({"worker": [sys.executable, "-c", worker, str(lives)]}) as processes:
        third_life = threading.Thread(target=_interrupt_when, args=[lambda: lives.read_text() == "xxx"])
        third_life.start()
        assert processes.wait() == ""
    third_life.join()
    assert lives.read_text() == "xxx"
    assert capsys.readouterr().err.count("; it is started again.") == 2


def _interrupt_when(fact: Callable[[], bool]) -> None:
    """Or when that takes too long: nobody waits for ever."""
    try:
        until(fact)
    finally:
        interrupt()


def test_a_signal_ends_the_wait_and_all_of_them() -> None:
    with Processes({"web": SLEEP, "worker": SLEEP}) as processes:
        signal.raise_signal(signal.SIGINT)
        assert processes.wait() == ""

    assert {child.returncode for child in processes.children} == {-signal.SIGTERM}


def test_the_last_group_is_told_to_stop_first_and_has_the_others_until_its_end(tmp_path: Path) -> None:
    program = """
import pathlib, signal, sys, time
folder, name, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
def end(*_):
    time.sleep(seconds)
    with open(folder / "order", "a") as order:
        order.write(name + " ")
    sys.exit()
signal.signal(signal.SIGTERM, end)
(folder / name).touch()
time.sleep(60)
"""
    web, worker = ([sys.executable, "-c", program, str(tmp_path), *each] for each in (("web", "0"), ("worker", "0.3")))
    with Processes({"web": web}, {"worker": worker}):
        until(lambda: (tmp_path / "web").exists() and (tmp_path / "worker").exists())
    assert (tmp_path / "order").read_text() == "worker web "


def test_waiting_for_a_port_gives_up_when_a_child_ends() -> None:
    with Processes({"web": [sys.executable, "-c", ""]}) as processes:
        assert processes.wait_for_port("127.0.0.1", free_port("127.0.0.1", 0)) is False


def test_a_port_that_is_taken_is_replaced_by_a_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert free_port("127.0.0.1", taken) != taken


def test_a_port_that_is_free_is_kept() -> None:
    free = free_port("127.0.0.1", 0)
    assert free_port("127.0.0.1", free) == free
