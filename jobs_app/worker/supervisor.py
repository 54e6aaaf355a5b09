"""Several worker processes under one: a dead one is replaced, a changed file restarts them all."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from django.db import DatabaseError, InterfaceError
from django.utils.autoreload import iter_all_python_module_files

from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.logs import Style, event
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.stopping import StopSignals
from jobs_app.worker.child import run_child
from jobs_app.worker.loop import WorkerOptions
from jobs_app.worker.overview import Overview
from jobs_app.worker.process import DRAINED

logger = logging.getLogger("jobs_app.worker")

LOOK_SECONDS = 0.2
LOOK_AT_FILES_SECONDS = 1.0
SHORT_LIFE_SECONDS = 5.0  # a child that dies sooner is replaced later, and later again
LONGEST_WAIT_SECONDS = 30.0
START_SECONDS = 120.0  # a child that hangs in its imports is replaced after this
KILL_AFTER_GRACE_SECONDS = 15.0
STOPPED_BY_US = (0, DRAINED, -signal.SIGTERM)  # the last: it had not come so far as to listen, so it had no jobs

# A fork would share database sockets between parent and child; a fresh interpreter shares nothing.
spawn = multiprocessing.get_context("spawn")


@dataclass
class Place:
    """One of the processes that should be there."""

    number: int = 0
    beside: Sequence[type[Loop]] = ()
    process: BaseProcess | None = None
    ready: Connection | None = None  # None: it said that it works
    born: float = 0.0
    short_lives: int = 0
    not_before: float = 0.0
    is_drained: bool = False  # an operator wants nobody here

    def is_alive(self) -> bool:
        process = self.process  # once: threads of monitoring ask too
        return process is not None and process.is_alive()

    @property
    def is_ready(self) -> bool:
        return self.ready is None

    def hangs(self) -> bool:
        """Alive, and not at work for so long that it never will be."""
        if self.ready is not None and self.ready.poll():
            self.ready = None
        return not self.is_ready and time.monotonic() - self.born > START_SECONDS


@dataclass
class Supervisor:
    options: WorkerOptions
    processes: int
    signals: StopSignals
    log: Style = field(default_factory=Style)
    reload: bool = False
    beside: Sequence[type[Loop]] = ()  # loops that share the first process
    overview: Overview | None = None  # where somebody looks

    def run(self) -> int:
        places = [Place(number, () if number else self.beside) for number in range(self.processes)]
        with nullcontext() if self.overview is None else self.overview.shown(places):
            return self._run(places)

    def _run(self, places: Sequence[Place]) -> int:
        try:
            self._watch(places)
        finally:  # whatever happens here, they are not left alone
            code = self._stop(places)
        return code

    def _watch(self, places: Sequence[Place]) -> None:
        files = snapshot() if self.reload else {}
        looked = time.monotonic()
        while not self.signals.received.is_set() and not all(place.is_drained for place in places):
            for place in places:
                self._look_after(place)
            if self.reload and time.monotonic() - looked > LOOK_AT_FILES_SECONDS:
                looked = time.monotonic()
                files = self._restart_if_changed(places, files)
            self.signals.received.wait(LOOK_SECONDS)

    def _look_after(self, place: Place) -> None:
        if place.is_drained:
            return
        if place.process is None:
            self._fill(place)
        elif not place.is_alive():
            self._bury(place)
        elif place.hangs():
            text = "a worker process did not come up within %.0f s; it is killed"
            logger.error(text, START_SECONDS, extra=event("worker_process_hung"))
            place.process.kill()

    def _fill(self, place: Place) -> None:
        if time.monotonic() < place.not_before:
            return
        place.ready, to_tell = spawn.Pipe(duplex=False)
        beside = [f"{loop.__module__}.{loop.__qualname__}" for loop in place.beside]
        seen = self.overview
        health_file = None if seen is None else str(seen.health_file(place.number))
        given = (asdict(self.options), beside, os.getpid(), self.log, to_tell, health_file)
        place.process = spawn.Process(target=run_child, args=given)
        with nullcontext() if seen is None else seen.environment():
            place.process.start()
        to_tell.close()  # ours; the child has its own
        place.born = time.monotonic()

    def _bury(self, place: Place) -> None:
        now = time.monotonic()
        code = place.process.exitcode if place.process else None
        place.process = None
        self._sweep()
        if code == DRAINED:
            place.is_drained = True
            text = "a worker process was drained; no new one takes its place"
            logger.info(text, extra=event("worker_process_drained"))
            if place.beside:
                text = "the scheduler that shared its process ended with it"
                logger.warning(text, extra=event("scheduler_stopped"))
            return
        lived_short = now - place.born < SHORT_LIFE_SECONDS and code != 0
        place.short_lives = place.short_lives + 1 if lived_short else 0
        wait = min(LONGEST_WAIT_SECONDS, 0.5 * 2**place.short_lives) if lived_short else 0.0
        place.not_before = now + wait
        level = logging.WARNING if code else logging.INFO
        facts = event("worker_process_ended", code=code, wait_seconds=wait)
        logger.log(level, "a worker process ended with code %s; a new one starts in %.1f s", code, wait, extra=facts)

    def _restart_if_changed(self, places: Iterable[Place], files: dict[Path, float]) -> dict[Path, float]:
        changed = snapshot()
        if changed != files:
            logger.info("code changed; restarting", extra=event("code_changed"))
            for place in places:
                place.not_before = 0.0  # what made it end may be mended
                if place.process is not None and place.is_alive():
                    place.process.terminate()
        return changed

    def _stop(self, places: Iterable[Place]) -> int:
        running = [place.process for place in places if place.process is not None and place.is_alive()]
        for process in running:
            process.terminate()
        began = time.monotonic()
        threading.Thread(target=_learn_grace, name="jobs-grace", daemon=True).start()
        while any(process.is_alive() for process in running):
            waited = time.monotonic() - began
            for process in running:
                if waited > self.options.grace_seconds + KILL_AFTER_GRACE_SECONDS:
                    process.kill()
                elif self.signals.forced:
                    process.terminate()  # again and again: it heard the first one a little later than we did
            time.sleep(LOOK_SECONDS / 4)
        self._sweep()
        return int(any(process.exitcode not in STOPPED_BY_US for process in running))

    def _sweep(self) -> None:
        if self.overview is not None:
            self.overview.sweep()


def _learn_grace() -> None:
    """An operator may have given more than code does. In a thread, since a database that is away must delay nothing."""
    try:
        read_overrides(jobs_connection())
    except (DatabaseError, InterfaceError) as error:
        logger.debug(
            "the grace in force could not be read: %s", error, extra=event("overrides_unreadable", error=error)
        )
    finally:
        jobs_connection().close()


def snapshot() -> dict[Path, float]:
    """When each loaded source file last changed."""
    found: dict[Path, float] = {}
    for path in iter_all_python_module_files():
        try:
            found[path] = path.stat().st_mtime
        except OSError:
            continue
    return found
