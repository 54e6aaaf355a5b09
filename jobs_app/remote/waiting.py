"""Pulls that wait for a job. Two threads of the process look out for all of them, so that fifty idle workers cost what
one does; those who wait hold no connection, and are woken one by one where there may be something for them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from jobs_app.conf import get_settings
from jobs_app.remote.desks import Choice
from jobs_app.remote.lookout import Ear, Lookout
from jobs_app.runtime.loops import Loop

Found = TypeVar("Found")

LINGER_SECONDS = 10.0  # the threads stay so long after the last one went: who pulls again and again finds them there


class Full(Exception):
    """As many wait as may."""


class WaitingRoom:
    """A line for each choice. The first in it is woken; if it finds a job it wakes the next: there may be more."""

    def __init__(self, *, looks_out: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._looks_out = looks_out
        self._clock = clock
        self._lines: dict[Choice, deque[threading.Event]] = {}
        self._lock = threading.Lock()
        self._lookout: Lookout | None = None
        self._ear: Ear | None = None
        self._used_at = float("-inf")

    def __len__(self) -> int:
        return sum(len(line) for line in self._lines.values())

    @property
    def threads(self) -> list[Loop]:
        return [thread for thread in (self._lookout, self._ear) if thread is not None]

    def wait(self, choice: Choice, seconds: float, look: Callable[[], Found | None]) -> Found | None:
        """What `look` finds, asked again whenever there may be something; None when the time is over."""
        give_up = self._clock() + seconds
        call = self._enter(choice)
        try:
            while (left := give_up - self._clock()) > 0:
                if call.wait(left):
                    call.clear()
                    if (found := look()) is not None:
                        return found
            return None
        finally:
            self._leave(choice, call)

    def told_of(self, queues: Iterable[str]) -> None:
        """Something waits there: the first of each line that it may be for looks."""
        found = list(queues)
        with self._lock:
            for choice, line in self._lines.items():
                if any(map(choice.serves, found)):
                    line[0].set()

    def dismisses(self, thread: Loop) -> bool:
        """Decided under the lock: who enters now finds the thread at work, or starts another."""
        with self._lock:
            if self._lines or self._clock() - self._used_at < LINGER_SECONDS:
                return False
            self._forget(thread)
            return True

    def close(self) -> None:
        """End the threads now, and not a while after the last one went."""
        with self._lock:
            ending = self.threads
            self._lookout = self._ear = None
        for thread in ending:
            thread.stop()
            thread.join()

    def _enter(self, choice: Choice) -> threading.Event:
        call = threading.Event()
        with self._lock:
            if len(self) >= get_settings().api_max_waiting:
                raise Full
            self._lines.setdefault(choice, deque()).append(call)
            self._used_at = self._clock()
            if self._looks_out:
                self._start_threads()
        return call

    def _leave(self, choice: Choice, call: threading.Event) -> None:
        with self._lock:
            line = self._lines[choice]
            line.remove(call)
            self._used_at = self._clock()
            if line:
                line[0].set()  # is the first now, and may have missed what the one before it was told
            else:
                del self._lines[choice]

    def _start_threads(self) -> None:
        """Those that are missing; one that a fork left behind, or that died, is missing too."""
        for thread in self.threads:
            if not thread.is_alive():
                self._forget(thread)
        if self._lookout is None:
            self._lookout = Lookout(self)
            self._lookout.start()
        if self._ear is None and get_settings().worker_listen:
            self._ear = Ear(self, self._lookout.wake.set)
            self._ear.start()

    def _forget(self, thread: Loop) -> None:
        if thread is self._lookout:
            self._lookout = None
        if thread is self._ear:
            self._ear = None


room = WaitingRoom()
