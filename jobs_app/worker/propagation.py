"""`current_job()` in threads that a handler starts.

Tasks and asgiref inherit context variables; plain threads and thread pools do not before Python 3.14. In a worker
process, and only for our one variable, they do: a thread carries the job that started it, a pool's call the job that
submitted it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from jobs_app.current import active


def install() -> None:
    """Once per worker process; again does nothing."""
    if not getattr(threading.Thread.start, "carries_job", False):
        threading.Thread.start = _start_with_job(threading.Thread.start)  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = _submit_with_job(ThreadPoolExecutor.submit)  # type: ignore[method-assign]


def _start_with_job(start: Callable[[threading.Thread], None]) -> Any:
    @functools.wraps(start)
    def start_with_job(thread: threading.Thread) -> None:
        if active.get() is not None:
            thread.run = _for_job(thread.run)  # type: ignore[method-assign]
        start(thread)

    start_with_job.carries_job = True  # type: ignore[attr-defined]
    return start_with_job


def _submit_with_job(submit: Callable[..., Future[Any]]) -> Any:
    # Also outside of jobs: a pool's thread that one job started must not lend its name to somebody else's call.
    @functools.wraps(submit)
    def submit_with_job(
        pool: ThreadPoolExecutor, call: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        return submit(pool, _for_job(call), *args, **kwargs)

    return submit_with_job


def _for_job(call: Callable[..., Any]) -> Callable[..., Any]:
    job = active.get()

    @functools.wraps(call)
    def for_job(*args: Any, **kwargs: Any) -> Any:
        before = active.set(job)
        try:
            return call(*args, **kwargs)
        finally:
            active.reset(before)

    return for_job
