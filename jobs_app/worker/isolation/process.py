"""One child as its worker holds it: start, talk, ask to stop, kill, and the proof that nothing of it is left."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from jobs_app.logs import event, style_in_force
from jobs_app.worker.isolation.channel import Channel
from jobs_app.worker.isolation.guard import KILL, TERMINATE
from jobs_app.worker.isolation.sockets import readable

logger = logging.getLogger("jobs_app.worker")

# A fresh interpreter: a fork of the worker would share its threads' locks and its database sockets. It finds modules
# where this one does, wherever it was started.
START = (
    "import sys; sys.path[:] = sys.argv.pop().split(chr(10)); from jobs_app.worker.isolation.guard import main; main()"
)
START_SECONDS = 120.0  # a child that hangs in its imports is given up after this
LEAVE_SECONDS = 1.0  # from the end of its channel to the end of the process
GONE_SECONDS = 5.0  # a killed process that is still there then hangs in the system itself


class ChildLost(Exception):
    """It ended before it could take a job."""


class ChildProcess:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._control, control = socket.socketpair()
        self._channel = Channel(ours)
        handed = (theirs.fileno(), control.fileno())
        log = map(str, style_in_force())
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-c", START, *map(str, handed), *log, "\n".join(sys.path)],
                pass_fds=handed,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            theirs.close()
            control.close()
        self._pid: int | None = None  # of the process under the guard; None until it is ready
        self._code: int | None = None
        self._burying = threading.Lock()  # its thread and the worker's end may both want to know
        self.born = self.idle_since = time.monotonic()
        self.jobs = 0
        self.is_spent = False  # killed, or not fit for another job

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    def wait_until_ready(self) -> None:
        while self._pid is None:
            left = self.born + START_SECONDS - time.monotonic()
            try:
                message = self._channel.receive(max(0.0, left))
            except EOFError:
                raise ChildLost(f"{self.describe_end(self.see_off())} while it started") from None
            if message is None and left <= 0:
                self.kill()
                self.wait_until_gone()
                raise ChildLost(f"it did not come up within {START_SECONDS:.0f} s")
            self._pid = None if message is None else message["ready"]

    def is_fit(self) -> bool:
        """Still there, and quiet, as it should be without a job."""
        try:
            if self._pid is None:
                return self._guard.poll() is None
            return not self.is_spent and self._channel.receive(0) is None
        except EOFError:
            return False

    def is_gone(self) -> bool:
        return self._guard.poll() is not None

    def send(self, message: dict[str, Any]) -> None:
        self._channel.send(message)

    def receive(self, seconds: float) -> dict[str, Any] | None:
        return self._channel.receive(seconds)

    def ask_to_stop(self) -> None:
        self._tell_guard(TERMINATE)

    def kill(self) -> None:
        """Now, with everything it started. Returns at once; `wait_until_gone` proves it."""
        self.is_spent = True
        self._tell_guard(KILL)

    def end(self) -> None:
        """Without haste: it sees that nobody will give it a job, and leaves."""
        self.is_spent = True
        self.idle_since = time.monotonic()
        self._channel.close()

    def see_off(self) -> int | None:
        """After the channel broke: it is ending, and should have the time to do it its way, or else it is killed."""
        self.is_spent = True
        if self._control.fileno() != -1 and not readable(self._control, seconds=LEAVE_SECONDS):
            self.kill()
        return self.wait_until_gone()

    def wait_until_gone(self, seconds: float = GONE_SECONDS) -> int | None:
        """The exit code, negative for a signal; None if nobody can tell."""
        with self._burying:
            if self._control.fileno() != -1:
                self._bury(seconds)
        return self._code

    @staticmethod
    def describe_end(code: int | None) -> str:
        if code is None:
            return "the process is gone"
        if code >= 0:
            return f"the process ended with exit code {code}"
        with suppress(ValueError):
            hint = "; the system does that when memory runs out" if code == -signal.SIGKILL else ""
            return f"the process was killed by {signal.Signals(-code).name}{hint}"
        return f"the process was killed by signal {-code}"

    def _bury(self, seconds: float) -> None:
        self._control.settimeout(seconds)
        with suppress(OSError, ValueError):
            self._code = int(self._control.recv(20) or "")
        try:
            self._guard.wait(seconds)
        except subprocess.TimeoutExpired:
            text = "process %s was killed with all that it started, and is not gone"
            logger.error(text, self._pid, extra=event("child_not_gone", pid=self._pid))
        if self._code is None and self._pid is not None:
            self._end_without_guard(self._pid)
        self._channel.close()
        self._control.close()

    def _end_without_guard(self, pid: int) -> None:
        """Somebody killed the guard. The child died with it where the system can do that; here is the rest."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def _tell_guard(self, word: bytes) -> None:
        with suppress(OSError):
            self._control.sendall(word)
