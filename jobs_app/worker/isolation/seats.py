"""Where process-isolated handlers run, as the worker sees it: a thread for each, that sits beside a child."""

from __future__ import annotations

import logging
import time

from jobs_app.logs import about, event
from jobs_app.worker.executors import Done, Threads
from jobs_app.worker.flight import Flight, Report
from jobs_app.worker.isolation.attempt import Attempt
from jobs_app.worker.isolation.endings import not_started
from jobs_app.worker.isolation.pool import Pool
from jobs_app.worker.isolation.process import ChildLost, ChildProcess
from jobs_app.worker.runner import failed, start
from jobs_app.worker.verdicts import refuse_if_unfit

logger = logging.getLogger("jobs_app.worker")


class Seats(Threads):
    def __init__(self, size: int, done: Done) -> None:
        super().__init__(size, done)
        self._pool = Pool(size)
        self._attempts: dict[Flight, Attempt] = {}
        self._is_stopped = False

    def warm(self) -> None:
        try:
            self._pool.warm()
        except OSError as error:
            logger.error("no child process could be started: %s", error, extra=event("child_not_started", error=error))

    def tend(self) -> None:
        self._pool.tend()

    def abort(self, flight: Flight) -> None:
        """One that has no child yet hears of it when it gets one."""
        if attempt := self._attempts.get(flight):
            attempt.cut("cancelled")

    def abandon(self, flight: Flight) -> None:
        """The worker reports something else about this one; before it does, the handler must be gone."""
        if attempt := self._attempts.get(flight):
            attempt.abandon()

    def stop(self) -> None:
        """What still runs is killed, and nothing is said about it: the end of its lease will tell."""
        self._is_stopped = True
        super().stop()
        self._pool.stop()

    def _run(self, flight: Flight) -> None:
        try:
            child = self._pool.take()
        except Exception as error:
            is_known = isinstance(error, ChildLost | OSError)
            facts = event("child_not_started", **about(flight.job), error=error)
            text = "job=%s goes back: no child process for it (%s)"
            logger.error(text, flight.job.id, error, exc_info=not is_known, extra=facts)
            told = Report(flight, not_started(flight, error), None, time.monotonic()) if flight.end() else None
        else:
            told = self._run_in(child, flight)
        if told is not None and not self._is_stopped:  # else the worker gave it up, and has said so itself
            self._done(flight, told)

    def _run_in(self, child: ChildProcess, flight: Flight) -> Report | None:
        attempt = self._attempts[flight] = Attempt(flight, child)
        # Whoever gives the job up ends its flight first and then looks for the attempt: one of us sees the other.
        told = None if flight.ended else self._tried(attempt, flight)
        attempt.close()
        del self._attempts[flight]
        self._give_back(child)
        return told

    def _tried(self, attempt: Attempt, flight: Flight) -> Report | None:
        """Ended at once, and not when the child is given back: that may take seconds, and the grace ends meanwhile."""
        started = start(flight)
        try:
            refuse_if_unfit(flight)
            ended = attempt.run()
        except Exception as error:
            ended = failed(flight, error)
        return Report(flight, ended, started, time.monotonic()) if flight.end() else None

    def _give_back(self, child: ChildProcess) -> None:
        try:
            self._pool.give_back(child)
        except Exception:  # how the job ended is worth more
            logger.exception("a child process could not be given back", extra=event("child_not_given_back"))
