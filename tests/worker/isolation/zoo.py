"""Handlers that run in processes of their own, most of them badly."""

from __future__ import annotations

import asyncio
import collections
import ctypes
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group

from jobs_app import Backoff, Fail, Retry, Snooze, current_job, job
from jobs_app.models import Job
from tests.worker.sample_jobs import note, wait_for

logger = logging.getLogger("zoo")

AT_ONCE = Backoff(base=0, factor=1, jitter="none")
MB = 1024 * 1024
SLEEPER = [sys.executable, "-c", "import time; time.sleep(3600)"]


def spin_in_c() -> None:
    """For ever, and without a look at signals or other threads."""
    collections.deque(itertools.repeat(0), maxlen=0)


@job(isolation="process")
def who() -> int:
    return os.getpid()


@job(isolation="process")
async def awho() -> int:
    await asyncio.sleep(0)
    return os.getpid()


@job(isolation="process", backoff=AT_ONCE)
def stay(until: str) -> int:
    note("began")
    wait_for(until)
    return os.getpid()


@job
async def astay(until: str) -> None:
    """In the worker's own event loop."""
    note("began")
    while not Path(until).exists():
        await asyncio.sleep(0.01)


@job(isolation="process")
def tell_all(count: int) -> dict[str, Any]:
    context = current_job()
    logger.warning("heard from the zoo")
    context.log("first line")
    context.progress(1, count, cursor="one", message="under way", results=7)
    context.save_meta(cost=3)
    for number in range(count):
        context.progress(number + 1)
    context.log("last line")
    context.set_result({"attempt": context.attempt, "subject": context.subject, "cursor": context.cursor})
    return {}


@job(isolation="process", max_attempts=3)
def crash_after_words() -> None:
    current_job().progress(5, cursor="five")
    current_job().log("famous last words")
    while not Job.objects.filter(pk=current_job().id, cursor="five").exists():
        time.sleep(0.01)
    os._exit(3)


@job(isolation="process", max_attempts=2, backoff=AT_ONCE)
def direct(how: str) -> None:
    if how == "retry" and current_job().attempt == 1:
        raise Retry("again", after=0)
    if how == "snooze" and not current_job().cursor:
        current_job().progress(cursor="snoozed")
        raise Snooze(0)
    if how == "fail":
        raise Fail("enough")
    if how == "error":
        raise KeyError("missing")


@job(isolation="process")
def save(name: str) -> int:
    Group.objects.create(name=name)
    return Group.objects.count()


@job(isolation="process")
async def asave(name: str) -> int:
    await Group.objects.acreate(name=name)
    return await Group.objects.acount()


@job(isolation="process")
def sit_on_connection(until: str) -> None:
    Group.objects.count()
    note("began")
    wait_for(until)


@job(isolation="process", timeout=1)
def clean_up() -> None:
    """Has something to put away when its time is over."""
    try:
        note("began")
        while True:
            time.sleep(0.01)
    finally:
        note("cleaned")


@job(isolation="process", timeout=1)
async def aclean_up() -> None:
    try:
        note("began")
        await asyncio.sleep(3600)
    finally:
        note("cleaned")


@job(isolation="process", timeout=1)
def ignore_term() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("began")
    while True:
        time.sleep(0.01)


@job(isolation="process", timeout=1)
def chatter() -> None:
    """Never lets its worker wait for a word, and does not listen."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("began")
    while True:
        current_job().log("bla " * 100)


@job(isolation="process", timeout=1)
def spin() -> None:
    note("began")
    spin_in_c()


@job(isolation="process", timeout=1, retry_timeouts=True, max_attempts=2, backoff=AT_ONCE)
def hang_again() -> None:
    note("began")
    spin_in_c()


@job(isolation="process", timeout=2, max_attempts=1)
def fork(then: str) -> None:
    """One in its group, one in a session of its own, one that also lost its parent and its environment, and a copy."""
    pids = [subprocess.Popen(SLEEPER).pid, subprocess.Popen(SLEEPER, start_new_session=True).pid, _daemon()]
    if (copy := os.fork()) == 0:
        time.sleep(3600)
    note("forked", pids=[*pids, copy])
    if then == "hang":
        spin_in_c()
    if then == "crash":
        ctypes.string_at(0)


def _daemon() -> int:
    start = f"import subprocess; print(subprocess.Popen({SLEEPER!r}, start_new_session=True, env={{}}, stdout=-3).pid)"
    return int(subprocess.check_output([sys.executable, "-c", start]))


@job(isolation="process")
def fork_and_forget() -> int:
    """Forgets to end its copy, which would run on as if it were the child."""
    return -1 if os.fork() == 0 else os.getpid()


@job(isolation="process", memory="200MB", max_attempts=1)
def eat() -> None:
    """Slowly enough to be seen at it; a quick one meets the limit of its process first, as a MemoryError."""
    note("began")
    eaten = []
    while True:
        eaten.append(os.urandom(MB))
        time.sleep(0.005)


@job(isolation="process", memory="200MB", max_attempts=1)
def eat_together() -> None:
    """Each of its processes is within the limit, and all of them are not."""
    note("began")
    meal = "import os, time; eaten = os.urandom(60 * 1024 * 1024); time.sleep(3600)"
    for eater in [subprocess.Popen([sys.executable, "-c", meal]) for _ in range(4)]:
        eater.wait()


@job(isolation="process", memory="200MB", max_attempts=1)
def eat_at_once() -> None:
    bytearray(4096 * MB)


@job(isolation="process", memory="150MB")
def sleep_in_threads(count: int) -> int:
    """Takes little memory, and the stacks of its threads could take much."""
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
    finally:
        gate.set()
    return len(threads)


@job(isolation="process")
async def leave_thread(how: str) -> int:
    """Goes away from a thread that it started, and that nobody can stop."""
    began = threading.Event()

    def sleep() -> None:
        began.set()
        time.sleep(3600)

    left = asyncio.ensure_future(sync_to_async(sleep)() if how == "sync_to_async" else asyncio.to_thread(sleep))
    while not began.is_set() and not left.done():
        await asyncio.sleep(0.01)
    return os.getpid()


@job(isolation="process", backoff=AT_ONCE, max_attempts=10)
def segfault() -> None:
    note("began")
    current_job().log("about to fall")
    ctypes.string_at(0)


@job(isolation="process", max_attempts=1)
def leave(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "raise":
        sys.exit(4)
    os.kill({"self": os.getpid(), "guard": os.getppid()}[how], signal.SIGKILL)
    wait_for("never")


@job(isolation="process")
def stop_when_asked() -> None:
    note("began")
    while True:
        current_job().raise_if_cancelled()
        time.sleep(0.01)


@job(isolation="process")
def never_ask() -> None:
    note("began")
    while True:
        time.sleep(0.01)
