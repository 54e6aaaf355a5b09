"""The process in which handlers run: it takes one job after another from its worker and says how each of them ended."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any

from asgiref.sync import SyncToAsync
from django.db import connections, reset_queries

from jobs_app import logs
from jobs_app.current import active
from jobs_app.errors import UnknownJobType
from jobs_app.lifecycle.moves import Ended
from jobs_app.worker.flight import Flight
from jobs_app.worker.isolation import kernel
from jobs_app.worker.isolation.channel import Channel
from jobs_app.worker.isolation.context import TellingContext, context_from
from jobs_app.worker.isolation.parcels import flight_from, pack_ending
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
        try:
            context = context_from(order, self._tell)
            flight = flight_from(order, context)
        except UnknownJobType as error:  # the code changed since the worker started
            return {"refused": str(error)}
        self._context = context
        ended = contextvars.copy_context().run(self._run, flight)
        self._context = None
        if os.getpid() != self._pid:
            os._exit(0)  # a copy that the handler forked and forgot to end
        _tidy_up()
        context.tell()
        return {"ended": pack_ending(ended), "has_children": kernel.has_children()}

    def _run(self, flight: Flight) -> Ended:
        active.set(flight.context)
        try:
            with kernel.allowed_to_grow_by(flight.job_type.memory):
                return self._attempt(flight)
        except BaseException as error:  # its deadline or its memory ended while its end was being put together
            return failed(flight, error)

    def _attempt(self, flight: Flight) -> Ended:
        self._flight = flight
        try:
            return asyncio.run(self._attempt_async(flight)) if flight.job_type.is_async else attempt(flight)
        finally:
            self._flight = None

    async def _attempt_async(self, flight: Flight) -> Ended:
        task = asyncio.current_task()

        def stop() -> None:
            if flight.is_past_deadline() and task is not None:
                flight.cut = "timeout"
                task.cancel("the job was cut: timeout")

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        return await attempt_async(flight)

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        """A service manager may send this to everybody; a handler is meant only when its time is over, and once."""
        if self._flight is not None and self._flight.is_past_deadline():
            flight, self._flight = self._flight, None
            flight.context.check_timeout()

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


def _tidy_up() -> None:
    reset_queries()
    tidy()
    # The thread where async code runs its queries: a second connection, which the next handler may not need.
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
