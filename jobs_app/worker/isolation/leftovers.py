"""Threads that a handler left at work: its job has ended, and neither its answer nor the next job waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent import futures
from typing import Any, TypeVar

from asgiref.sync import SyncToAsync
from django.db import connections

LEFTOVER_SECONDS = 1.0  # for those that are about to end

T = TypeVar("T")


class HandlerThreads(futures.ThreadPoolExecutor):
    """Where one async handler's `asyncio.to_thread` runs; an event loop would wait for its own as long as it takes."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="jobs-to-thread")
        self._open: set[futures.Future[Any]] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> futures.Future[T]:
        future = super().submit(call, *args, **kwargs)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            futures.wait(self._open.copy(), LEFTOVER_SECONDS)


def run_in_loop(main: Coroutine[Any, Any, T], threads: HandlerThreads) -> T:
    """As `asyncio.run` does, but for the end."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(threads)
        return runner.run(main)


def close_async_connections() -> bool:
    """Those of the thread where async code runs its queries: the next handler may need none. False: it is busy."""
    closing = SyncToAsync.single_thread_executor.submit(connections.close_all)
    try:
        closing.result(LEFTOVER_SECONDS)
    except Exception:  # it waits behind what the handler left, or a connection is broken
        return False
    return True
