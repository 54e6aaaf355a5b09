"""The small process above each child: when the child ends, or the worker does, everything the job started ends too.

It runs none of the host's code, so nothing can block it or take it down: it sees to the end of handlers that ignore
signals, hold the GIL, or fork away from their session.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from typing import NoReturn

import psutil

from jobs_app.worker.isolation.kernel import adopt_orphans, die_with, has_children
from jobs_app.worker.isolation.sockets import readable

TERMINATE = b"T"  # what the worker says: ask the child to stop
KILL = b"K"  # end everything now; so does an end of the worker
# A service manager sends these to everybody; what they mean for a job is for its worker to say.
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LOOK_SECONDS = 0.005
LONGEST_LOOK_SECONDS = 1.0  # where something cannot be killed; each look reads the system's whole table of processes


def main() -> NoReturn:
    """With two sockets of the worker: one for the child, one for its guard; and how the child logs."""
    talk, control, level = (int(each) for each in sys.argv[1:4])
    log = (level, sys.argv[4])
    for handed in (talk, control):
        os.set_inheritable(handed, False)  # what a handler starts must not have them
    adopt_orphans()
    guard = os.getpid()
    child = os.fork()  # one thread, no host code yet: the one moment at which a fork is safe
    if child:
        os.close(talk)
        sys.exit(Guard(child, socket.socket(fileno=control)).watch())
    os.close(control)
    die_with(guard)
    os.setsid()
    from jobs_app.worker.isolation.entry import run_handler_process

    sys.exit(run_handler_process(socket.socket(fileno=talk), log))


class Guard:
    def __init__(self, child: int, control: socket.socket) -> None:
        self._child = child
        self._control = control
        self._code: int | None = None  # how the child ended; negative: by which signal
        self._ended, self._wakeup = socket.socketpair()

    def watch(self) -> int:
        """Until the child has ended, and then all the others; the worker hears how it ended."""
        self._listen_for_ends()
        while has_children(self._note_end) and self._code is None:
            found = readable(self._control, self._ended, seconds=None)
            if self._ended in found:
                self._ended.recv(4096)
            if self._control in found:
                self._obey(self._control.recv(1))
        self._end_all()
        with suppress(OSError):
            self._control.sendall(b"%d\n" % (self._code or 0))
        return 0

    def _listen_for_ends(self) -> None:
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        self._wakeup.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def _obey(self, word: bytes) -> None:
        if word == TERMINATE:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGTERM)
        else:  # or nothing: the worker is gone
            self._end_all()

    def _end_all(self) -> None:
        """Again and again: who loses a parent becomes our child, and a fork may come between."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child, signal.SIGKILL)
        pause = LOOK_SECONDS
        while has_children(self._note_end):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    process.kill()
            if readable(self._ended, seconds=pause):
                self._ended.recv(4096)
            pause = min(2 * pause, LONGEST_LOOK_SECONDS)

    def _note_end(self, pid: int, status: int) -> None:
        if pid == self._child:
            self._code = os.waitstatus_to_exitcode(status)
