"""Several commands side by side that live and end together."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Self

POLL_SECONDS = 0.2
SHORT_LIFE_SECONDS = 5.0
PATIENCE_SECONDS = 10  # after the polite signal; then they are killed


class Processes:
    """Started on entry and stopped on exit. Only this one hears the terminal, so each child is told exactly once."""

    def __init__(self, *groups: Mapping[str, Sequence[str]]) -> None:
        """Started group by group; the last group is told to stop first, and those before it serve it until its end."""
        self._groups = groups
        self._commands = {name: command for group in groups for name, command in group.items()}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._born: dict[str, float] = {}  # by the monotonic clock
        self._stopping = False

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        for name in self._commands:
            self._start(name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        for group in reversed(self._groups):
            _end([self._children[name] for name in group if name in self._children], deadline)

    @property
    def children(self) -> list[subprocess.Popen[bytes]]:
        return list(self._children.values())

    def wait(self) -> str:
        """Wait for a signal, which gives '', or for a child that ends as soon as it is started: the words for it."""
        while not self._stopping:
            if ended := self._ended():
                return ended
            time.sleep(POLL_SECONDS)
        return ""

    def wait_for_port(self, host: str, port: int) -> bool:
        """Wait until something answers there; False when a child or the user gave up before."""
        while not self._stopping and not self._ended():
            if _is_open(host, port):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _ended(self) -> str:
        """One that worked for a while and then ended, drained or killed, is started anew, as a supervisor would do."""
        for name, child in self._children.items():
            if child.poll() is None:
                continue
            told = f"{name} ended with exit code {child.returncode}"
            if time.monotonic() - self._born[name] <= SHORT_LIFE_SECONDS:
                return told
            sys.stderr.write(f"{told}; it is started again.\n")
            self._start(name)
        return ""

    def _start(self, name: str) -> None:
        self._born[name] = time.monotonic()
        self._children[name] = subprocess.Popen(self._commands[name], stdin=subprocess.DEVNULL, process_group=0)

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True


def _end(children: list[subprocess.Popen[bytes]], deadline: float) -> None:
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port(host: str, wanted: int) -> int:
    """`wanted`, or any free port where something else has it."""
    for port in (wanted, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((host, port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise OSError(f"no free port on {host}")


def _is_open(host: str, port: int) -> bool:
    with socket.socket() as caller:
        caller.settimeout(POLL_SECONDS)
        return caller.connect_ex((host, port)) == 0
