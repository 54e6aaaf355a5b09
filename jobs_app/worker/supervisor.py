"""Several worker processes under one: a dead one is replaced, a changed file restarts them all."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import django
from django.utils.autoreload import iter_all_python_module_files

from jobs_app import logs
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.stopping import StopSignals
from jobs_app.worker.loop import WorkerOptions
from jobs_app.worker.process import run_worker

logger = logging.getLogger("jobs_app.worker")

LOOK_SECONDS = 0.2
LOOK_AT_FILES_SECONDS = 1.0
SHORT_LIFE_SECONDS = 5.0  # a child that dies sooner is replaced later, and later again
LONGEST_WAIT_SECONDS = 30.0
KILL_AFTER_GRACE_SECONDS = 10.0

# A fork would share database sockets between parent and child; a fresh interpreter shares nothing.
spawn = multiprocessing.get_context("spawn")


def run_child(options: WorkerOptions, parent: int, log_level: int, beside: Sequence[type[Loop]]) -> None:
    django.setup()
    logs.configure(log_level)
    raise SystemExit(run_worker(options, beside=[make() for make in beside], parent=parent))


@dataclass
class Place:
    """One of the processes that should be there."""

    beside: Sequence[type[Loop]] = ()
    process: BaseProcess | None = None
    born: float = 0.0
    short_lives: int = 0
    not_before: float = 0.0

    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_alive()


@dataclass
class Supervisor:
    options: WorkerOptions
    processes: int
    log_level: int = logging.INFO
    reload: bool = False
    beside: Sequence[type[Loop]] = ()  # loops that share the first process
    signals: StopSignals = field(default_factory=StopSignals)

    def run(self) -> int:
        self.signals.install()
        places = [Place(self.beside), *(Place() for _ in range(self.processes - 1))]
        files = snapshot() if self.reload else {}
        looked = time.monotonic()
        while not self.signals.received.is_set():
            self._fill(places)
            if self.reload and time.monotonic() - looked > LOOK_AT_FILES_SECONDS:
                looked = time.monotonic()
                files = self._restart_if_changed(places, files)
            self.signals.received.wait(LOOK_SECONDS)
        return self._stop(places)

    def _fill(self, places: Iterable[Place]) -> None:
        now = time.monotonic()
        for place in places:
            if place.is_alive():
                continue
            if place.process is not None:
                self._bury(place, now)
            elif now >= place.not_before:
                given = (self.options, os.getpid(), self.log_level, place.beside)
                place.process = spawn.Process(target=run_child, args=given)
                place.process.start()
                place.born = now

    def _bury(self, place: Place, now: float) -> None:
        code = place.process.exitcode if place.process else None
        place.process = None
        lived_short = now - place.born < SHORT_LIFE_SECONDS and code != 0
        place.short_lives = place.short_lives + 1 if lived_short else 0
        wait = min(LONGEST_WAIT_SECONDS, 0.5 * 2**place.short_lives) if lived_short else 0.0
        place.not_before = now + wait
        logger.warning("a worker process ended with code %s; a new one starts in %.1f s", code, wait)

    def _restart_if_changed(self, places: Iterable[Place], files: dict[Path, float]) -> dict[Path, float]:
        changed = snapshot()
        if changed != files:
            logger.info("code changed; restarting")
            for place in places:
                if place.process is not None and place.is_alive():
                    place.process.terminate()
        return changed

    def _stop(self, places: Iterable[Place]) -> int:
        running = [place.process for place in places if place.process is not None]
        for process in running:
            process.terminate()
        give_up = time.monotonic() + self.options.grace + KILL_AFTER_GRACE_SECONDS
        forced = False
        while any(process.is_alive() for process in running):
            if self.signals.forced and not forced:
                forced = True
                for process in running:
                    process.terminate()
            if time.monotonic() > give_up:
                for process in running:
                    process.kill()
            time.sleep(LOOK_SECONDS / 4)
        return max((process.exitcode or 0 for process in running), key=abs, default=0) and 1


def snapshot() -> dict[Path, float]:
    """When each loaded source file last changed."""
    found: dict[Path, float] = {}
    for path in iter_all_python_module_files():
        try:
            found[path] = path.stat().st_mtime
        except OSError:
            continue
    return found
