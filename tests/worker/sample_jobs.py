"""Jobs that worker processes run. What they did is in the ledger, a file that outlives every kill."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, transaction
from opentelemetry import trace

from jobs_app import Backoff, current_job, job
from jobs_app.models import Job

logger = logging.getLogger("sample")

APART = os.environ.get("APART", "thread")  # "process" where a test wants it: then each worker keeps a child ready

if os.environ.get("TRACED"):
    from opentelemetry.sdk.trace import TracerProvider

    trace.set_tracer_provider(TracerProvider())

AT_ONCE = Backoff(base=0, factor=1, jitter="none")


def note(what: str, **more: Any) -> None:
    """One line in the ledger, on disk before the handler goes on."""
    context = current_job()
    line = {"what": what, "job": str(context.id), "attempt": context.attempt, "pid": os.getpid(), **more}
    handle = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, json.dumps(line).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)


@job
def ping() -> str:
    note("ran")
    return "pong"


@job(isolation=APART)
def traced() -> None:
    """In the span of its own run, where this process exports spans."""
    span: Any = trace.get_current_span()
    note("ran", span=span.name, links=[f"{link.context.span_id:016x}" for link in span.links])


@job
def say_ai() -> None:
    logger.warning("[AI] 3 pages read")


@job(isolation=APART, max_attempts=1)
def fail_apart(word: str) -> None:
    logger.warning("[AI] no page read")
    raise ValueError("no page")


@job
async def aping() -> str:
    note("ran")
    return "pong"


@job
def noop(n: int) -> None:
    """Noted without fsync: thousands of them are drained."""
    handle = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, b"%d %d\n" % (n, os.getpid()))
    os.close(handle)


@job(backoff=AT_ONCE)
def hold(until: str) -> str:
    """Run until a file appears."""
    note("began")
    wait_for(until)
    note("ended")
    return f"by {os.getpid()}"


@job(name="jobs.own", queue="jobs.system", policy="exclusive", max_attempts=1)
def own_chore(until: str) -> None:
    """As one of the app's own."""
    note("began")
    wait_for(until)


@job
def stop_when_told() -> None:
    note("began")
    while not current_job().cancelled:
        time.sleep(0.01)
    note("told")
    current_job().raise_if_cancelled()


@job
async def wait_forever() -> None:
    note("began")
    try:
        await asyncio.sleep(3600)
    finally:
        note("cleaned up")


@job(timeout=1)
async def ignore_deadline() -> str:
    """Swallows the first cancel, and goes on."""
    note("began")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note("ignored")
    try:
        await asyncio.sleep(3600)
    finally:
        note("cleaned up")


@job(timeout=1)
def hold_past_deadline(until: str) -> str:
    """Never looks at its clock."""
    note("began")
    wait_for(until)
    return "late"


@job(max_attempts=3, backoff=AT_ONCE)
def kill_worker() -> None:
    note("began")
    os.kill(os.getpid(), signal.SIGKILL)


@job(backoff=AT_ONCE)
def kill_once() -> str:
    """Takes its worker down the first time."""
    note("began")
    if current_job().attempt == 1:
        current_job().progress(1, 2, cursor="half")
        wait_for_progress()
        os.kill(os.getpid(), signal.SIGKILL)
    return current_job().cursor


def wait_for_progress() -> None:
    while not Job.objects.filter(pk=current_job().id, cursor="half").exists():
        time.sleep(0.01)


@job(backoff=AT_ONCE)
def hold_gil(seconds: float) -> str:
    """A C call that keeps the GIL: no other thread of the process, the heartbeat among them, runs meanwhile."""
    note("began")
    if current_job().attempt == 1:
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    note("ended")
    return f"by {os.getpid()}"


@job
def use_connection(until: str) -> None:
    """Sit on the thread's connection, inside a transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        note("began")
        wait_for(until)


@job
def query() -> None:
    Group.objects.count()
    note("ran")


@job(atomic=True, backoff=AT_ONCE)
def pay(name: str, until: str = "") -> None:
    Group.objects.create(name=f"{name} {current_job().attempt}")
    note("wrote")
    if until:
        wait_for(until)


@job
def fork_and_query(name: str) -> None:
    """The parent's connection must survive what the child does with its own copy of everything."""
    Group.objects.create(name=f"{name} before")
    child = multiprocessing.get_context("fork").Process(target=_query_in_child, args=(name,))
    child.start()
    child.join(20)
    Group.objects.create(name=f"{name} after")
    note("ran", code=child.exitcode)


def _query_in_child(name: str) -> None:
    Group.objects.create(name=f"{name} child")


@job
def fork_and_return() -> None:
    """A handler that forks and forgets to end the child."""
    if os.fork() == 0:
        return
    note("ran")


@job
def leave_thread_behind() -> None:
    """Starts a thread that never ends and is not a daemon."""
    threading.Thread(target=lambda: time.sleep(3600)).start()
    note("ran")


@job(preset="payments")
def charge(fails: int) -> None:
    if current_job().attempt <= fails:
        raise ConnectionError("card reader is away")


@job
def say(word: str, times: int = 20) -> None:
    """Log in the handler and in threads that it starts."""

    def speak() -> None:
        for _ in range(times):
            logger.warning("said %s", word)

    threads = [threading.Thread(target=speak) for _ in range(3)]
    for thread in threads:
        thread.start()
    speak()
    for thread in threads:
        thread.join()


@job
async def asay(word: str, times: int = 20) -> None:
    for _ in range(times):
        await asyncio.sleep(0)
        logger.warning("said %s", word)
        await asyncio.to_thread(logger.warning, "said %s", word)


if _more := os.environ.get("MORE_JOBS"):
    import_module(_more)
