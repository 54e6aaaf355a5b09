"""One job in one child: what it says is heard, its limits are kept, and it always ends."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from jobs_app.conf import get_settings
from jobs_app.lifecycle.moves import Ended
from jobs_app.logs import about, event
from jobs_app.worker.flight import Cut, Flight
from jobs_app.worker.isolation.endings import CRASHED, TOO_LARGE, crashed, not_started, stopped
from jobs_app.worker.isolation.kernel import is_larger_below
from jobs_app.worker.isolation.parcels import order_for, unpack_ending, unpack_words
from jobs_app.worker.isolation.process import GONE_SECONDS, ChildProcess

logger = logging.getLogger("jobs_app.worker")

LOOK_SECONDS = 0.1
MEASURE_SECONDS = 0.5  # it reads the system's whole table of processes
MEGABYTE = 1024 * 1024


class Attempt:
    def __init__(self, flight: Flight, child: ChildProcess) -> None:
        self._flight = flight
        self._child = child
        self._lock = threading.Lock()
        self._is_over = False
        self._is_too_large = False
        self._told: dict[str, bool] = {}
        self._next_look = self._next_measure = 0.0
        self._asked_to_stop = False
        self._killed_at: float | None = None

    def run(self) -> Ended:
        """Raises nothing that the child could be the reason of."""
        ended = None
        try:
            self._child.send({"order": order_for(self._flight)})
            while ended is None:
                ended = self._hear(self._child.receive(LOOK_SECONDS))
                self._keep_limits()
        except (EOFError, OSError):
            pass
        except (ValueError, KeyError, TypeError):
            facts = event("child_not_understood", **about(self._flight.job))
            logger.exception("job=%s: its process says what is not understood", self._flight.job.id, extra=facts)
        self.close(is_child_lost=ended is None)
        return ended or self._without_a_word()

    def close(self, *, is_child_lost: bool = False) -> None:
        """From now on nobody does anything to its child, which may have the next job."""
        with self._lock:
            self._is_over = True
            self._child.is_spent = self._child.is_spent or is_child_lost

    def cut(self, how: Cut) -> None:
        """Kill it, for this reason. Nothing happens to one that has ended, nor to the next job of its child."""
        with self._lock:
            if not self._is_over:
                self._flight.cut = self._flight.cut or how
                self._kill()

    def abandon(self) -> None:
        """Kill it, since the worker has given the job up. When this returns, nothing of it is left.

        One that is over left nothing in a child that is fit for more, and a child that is not is being killed.
        """
        with self._lock:
            if self._is_over and not self._child.is_spent:
                return
            if not self._is_over:
                self._kill()
        give_up = time.monotonic() + GONE_SECONDS
        while not self._child.is_gone() and time.monotonic() < give_up:
            time.sleep(LOOK_SECONDS / 10)

    def _kill(self) -> None:
        self._killed_at = self._killed_at or time.monotonic()
        self._child.kill()

    def _hear(self, message: dict[str, Any] | None) -> Ended | None:
        context = self._flight.context
        if message is None:
            return None
        if "log" in message:
            context.log(message["log"])
        if "words" in message:
            context.hear(unpack_words(message["words"], self._flight.job))
        if "refused" in message:
            self._child.is_spent = True
            job = self._flight.job
            facts = event("unknown_job_type", **about(job), error=message["refused"])
            logger.warning("job=%s goes back: its process has other code (%s)", job.id, message["refused"], extra=facts)
            return not_started(self._flight, message["refused"])
        if "ended" not in message:
            return None
        self._child.is_spent = self._child.is_spent or not message["is_fit"]
        return unpack_ending(message["ended"], self._flight.job, context.log_text())

    def _keep_limits(self) -> None:
        """Also while it talks without a pause."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        self._pass_on()
        self._keep_deadline()
        if self._flight.job_type.memory is not None and now >= self._next_measure:
            self._next_measure = now + MEASURE_SECONDS
            self._keep_memory(self._flight.job_type.memory)
        if self._child.is_gone() or (self._killed_at is not None and now - self._killed_at > GONE_SECONDS):
            raise EOFError("nothing more will come")

    def _pass_on(self) -> None:
        context = self._flight.context
        news = {"cancelled": context.cancelled, "lease_lost": context.lease_lost}
        if news != self._told and any(news.values()):
            self._told = news
            self._child.send(news)

    def _keep_deadline(self) -> None:
        """Asked at the deadline, and killed when the grace is over too."""
        if self._flight.is_past_deadline(get_settings().timeout_grace_seconds):
            self.cut("timeout")
        elif self._flight.is_past_deadline() and not self._asked_to_stop:
            self._asked_to_stop = True
            self._child.ask_to_stop()

    def _keep_memory(self, limit: int) -> None:
        if is_larger_below(self._child.guard_pid, limit):
            self._is_too_large = True
            self._kill()

    def _without_a_word(self) -> Ended:
        flight = self._flight
        code = self._child.see_off()
        how = "the process was killed" if self._killed_at is not None else ChildProcess.describe_end(code)
        if flight.cut or flight.context.cancelled or flight.is_past_deadline():
            return stopped(flight, how)
        if self._is_too_large:
            limit = (flight.job_type.memory or 0) // MEGABYTE
            return crashed(flight, TOO_LARGE, f"used more than its {limit} MB of memory")
        return crashed(flight, CRASHED, how)
