"""Jobs that must not meet: each holds a lock of the operating system for its key, which ends with its process."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from jobs_app import Backoff, current_job, job
from tests.worker.sample_jobs import note, wait_for

AT_ONCE = Backoff(base=0, factor=1, jitter="none")


@contextmanager
def alone(key: str) -> Iterator[None]:
    """Notes whoever is not: the lock of a killed process is free at once, as its key is only after its lease."""
    handle = os.open(f"{os.environ['LEDGER']}.{key}", os.O_WRONLY | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("overlap", key=key)
        yield
    finally:
        os.close(handle)


def work(key: str, seconds: float, until: str, kill: bool) -> None:
    with alone(key):
        note("began", key=key, at=time.monotonic())
        if kill and current_job().attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        wait_for(until) if until else time.sleep(seconds)
        note("ended", key=key, at=time.monotonic())


@job(queue="sp.work", singleton=True, subject="provider", backoff=AT_ONCE)
def deal(provider: str, seconds: float = 0, until: str = "", kill: bool = False) -> None:
    work(provider, seconds, until, kill)


@job(queue="sp.work", singleton=True, subject="provider", backoff=AT_ONCE)
def retrieval(provider: str, seconds: float = 0, until: str = "", kill: bool = False) -> None:
    work(provider, seconds, until, kill)


@job(exclusive=True)
def reconcile(until: str) -> None:
    work("reconcile", 0, until, kill=False)


@job(concurrency=3)
def three_at_once(until: str) -> None:
    note("began")
    wait_for(until)


@job(concurrency_per_process=2)
def two_per_process(until: str) -> None:
    note("began")
    wait_for(until)


@job(queue="narrow")
def narrow(until: str) -> None:
    note("began")
    wait_for(until)


@job(queue="paced", rate="20/second")
def paced() -> None:
    note("began", at=time.monotonic())
