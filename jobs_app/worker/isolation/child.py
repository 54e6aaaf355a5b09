"""The process in which handlers run: it takes one job after another from its worker and says how each of them ended."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any

from django.db import reset_queries

from jobs_app import logs
from jobs_app.current import active
from jobs_app.errors import UnknownJobType
from jobs_app.lifecycle.moves import Ended
from jobs_app.worker.flight import Flight
from jobs_app.worker.isolation import kernel
from jobs_app.worker.isolation.channel import Channel
from jobs_app.worker.isolation.context import TellingContext
from jobs_app.worker.isolation.leftovers import HandlerThreads, close_async_connections, run_in_loop
from jobs_app.worker.isolation.parcels import flight_from, pack_ending, unpack_job
from jobs_app.worker.runner import attempt, attempt_async, failed
from jobs_app.worker.tidying import tidy

TELL_SECONDS = 0.2  # how old an untold word gets


class Child:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._orders: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._is_busy = False
        self._context: TellingContext | None = None  # of the job that runs
        self._flight: Flight | None = None  # while it may be interrupted
        self._cancel: Callable[[], object] | None = None  # its task, if it is async
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._forget_worker)

    def work(self) -> None:
        threading.Thread(target=self._listen, name="jobs-channel", daemon=True).start()
        self._tell({"ready": self._pid})
        while (order := self._next_order()) is not None:
            answer = self._carry_out(order)
            self._is_busy = False  # before the answer, which may bring the next order
            self._tell(answer)

    def _next_order(self) -> dict[str, Any] | None:
        signal.signal(signal.SIGTERM, self._asked_to_stop)  # each time: a handler may have taken it
        return self._orders.get()

    def _carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        logs.name_worker(order["worker"])
        job = unpack_job(order["job"])
        context = TellingContext(job, worker=order["worker"], worker_id=order["worker_id"], tell=self._tell)
        try:
            flight = flight_from(order, job, context)
        except UnknownJobType as error:  # the code changed since the worker started
            return {"refused": str(error)}
        self._context = context
        threads = HandlerThreads()
        ended = contextvars.copy_context().run(self._run, flight, threads)
        self._context = None
        if os.getpid() != self._pid:
            os._exit(0)  # a copy that the handler forked and forgot to end
        context.tell()
        return {"ended": pack_ending(ended), "is_fit": _is_fit_for_more(threads)}

    def _run(self, flight: Flight, threads: HandlerThreads) -> Ended:
        active.set(flight.context)
        try:
            with kernel.allowed_to_grow_by(flight.job_type.memory):
                return self._attempt(flight, threads)
        except BaseException as error:  # its deadline or its memory ended while its end was being put together
            return failed(flight, error)

    def _attempt(self, flight: Flight, threads: HandlerThreads) -> Ended:
        self._flight, self._cancel = flight, None
        try:
            return run_in_loop(self._attempt_async(flight), threads) if flight.job_type.is_async else attempt(flight)
        finally:
            self._flight = None

    async def _attempt_async(self, flight: Flight) -> Ended:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            # Not a signal handler of the loop: at the end of the loop, the signal would end this process.
            self._cancel = partial(loop.call_soon_threadsafe, task.cancel, "the job was cut: timeout")
        try:
            return await attempt_async(flight)
        finally:
            self._flight = None

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        """A service manager may send this to everybody; a handler is meant only when its time is over, and once."""
        if self._flight is not None and self._flight.is_past_deadline():
            flight, self._flight = self._flight, None
            if self._cancel is None:
                flight.context.check_timeout()
            else:
                flight.cut = "timeout"
                self._cancel()

    def _listen(self) -> None:
        try:
            while True:
                message = self._channel.receive(TELL_SECONDS if self._is_busy else None) or {}
                if "order" in message:
                    self._is_busy = True
                    self._orders.put(message["order"])
                else:
                    self._attend(message)
        except EOFError:
            self._leave()

    def _attend(self, news: dict[str, Any]) -> None:
        if (context := self._context) is not None:
            context.cancelled = context.cancelled or news.get("cancelled", False)
            context.lease_lost = context.lease_lost or news.get("lease_lost", False)
            context.tell()

    def _leave(self) -> None:
        """The worker wants no more of this process, or is gone; then nobody wants what the handler does."""
        self._orders.put(None)
        if self._is_busy:
            os._exit(1)

    def _tell(self, message: dict[str, Any]) -> None:
        """To the worker; from a fork of the handler, or with nobody there, to nobody."""
        if os.getpid() == self._pid:
            with suppress(OSError):
                self._channel.send(message)

    def _forget_worker(self) -> None:
        """In a fork: as long as it has the channel, the worker would not see that this process ended."""
        with suppress(OSError):
            self._channel.close()


def _is_fit_for_more(threads: HandlerThreads) -> bool:
    """Tidied up, and nothing of the job that ended is left in this process or under it."""
    reset_queries()
    tidy()
    return not threads.is_busy and close_async_connections() and not kernel.has_children()
