"""Warm children: taken for a job, given back after it, replaced when they are spent, ended when nobody needs them."""

from __future__ import annotations

import logging
import threading
import time

from jobs_app.conf import get_settings
from jobs_app.logs import event
from jobs_app.worker.isolation.process import GONE_SECONDS, ChildLost, ChildProcess

logger = logging.getLogger("jobs_app.worker")

IDLE_SECONDS = 60.0  # then a child that nobody needs ends; one stays, so that the next job need not wait


class Pool:
    """At most `size` of them, because at most so many threads take one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []  # the last is taken first, so that those in front get old
        self._busy: set[ChildProcess] = set()
        self._leaving: list[ChildProcess] = []
        self._is_stopped = False

    def warm(self) -> None:
        """Have one ready, if there is room."""
        with self._lock:
            if not self._idle and len(self._busy) < self.size and not self._is_stopped:
                self._idle.append(ChildProcess())

    def take(self) -> ChildProcess:
        """One that is ready. ChildLost or OSError where none can be had."""
        with self._lock:
            if self._is_stopped:
                raise ChildLost("the worker stops")
            child = self._first_fit() or ChildProcess()
            self._busy.add(child)
        try:
            child.wait_until_ready()
        except BaseException:
            child.kill()
            child.wait_until_gone()
            self._busy.discard(child)
            raise
        return child

    def give_back(self, child: ChildProcess) -> None:
        """When this returns, nothing that the job started is left."""
        if child.is_spent:
            child.kill()
            child.wait_until_gone()
        with self._lock:
            self._busy.discard(child)
            child.jobs += 1
            child.idle_since = time.monotonic()
            if not child.is_spent and child.jobs < get_settings().isolation_max_jobs:
                self._idle.append(child)
                return
        if not child.is_spent:
            self._let_go(child)
        self.warm()

    def tend(self) -> None:
        """Once in a while: end what is idle for long, and see to it that what should end does."""
        before = time.monotonic() - IDLE_SECONDS
        with self._lock:
            old = [child for child in self._idle[:-1] if child.idle_since < before]
            self._idle = [child for child in self._idle if child not in old]
        for child in old:
            self._let_go(child)
        for child in list(self._leaving):
            if time.monotonic() - child.idle_since > GONE_SECONDS:
                child.kill()
            if child.is_gone():
                child.wait_until_gone()
                self._leaving.remove(child)

    def stop(self) -> None:
        """Kill them all: a child must not outlive its worker."""
        with self._lock:
            self._is_stopped = True
            children = [*self._idle, *self._busy, *self._leaving]
            self._idle, self._leaving = [], []
        for child in children:
            child.kill()
        for child in children:
            child.wait_until_gone()

    def _first_fit(self) -> ChildProcess | None:
        while self._idle:
            child = self._idle.pop()
            if child.is_fit():
                return child
            logger.warning(
                "an idle child process is gone: %s", child.guard_pid, extra=event("child_gone", pid=child.guard_pid)
            )
            child.kill()
            child.wait_until_gone()
        return None

    def _let_go(self, child: ChildProcess) -> None:
        child.end()
        self._leaving.append(child)
