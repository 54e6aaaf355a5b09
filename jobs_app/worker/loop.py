"""One worker process: its threads, wired together, from start to a clean end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import jobs_app
from jobs_app import logs
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.presence import Presence
from jobs_app.registry import registry
from jobs_app.runtime.identity import Identity
from jobs_app.runtime.memory import rss_bytes
from jobs_app.worker import propagation
from jobs_app.worker.beat import Beat
from jobs_app.worker.claimer import MOST_UNSTORED, Claimer, Room
from jobs_app.worker.context import JobContext
from jobs_app.worker.executors import Chunk, EventLoop, Threads
from jobs_app.worker.finisher import Finisher
from jobs_app.worker.flight import Flight, Hangar, Report
from jobs_app.worker.listener import Listener
from jobs_app.worker.pace import Pace
from jobs_app.worker.runner import interrupted
from jobs_app.worker.serving import Serving

logger = logging.getLogger("jobs_app.worker")

WAIT_FOR_THREAD_SECONDS = 1.0  # a claimed job that has not started by then goes to a free thread, or back


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    queues: Sequence[str] = ()
    excluded: Sequence[str] = ()
    concurrency: int = 10
    poll: float = 1.0
    lease: float = 30.0
    grace: float = 25.0
    on_shutdown: str = "release"
    recover_every: float = 4.0
    listen: bool = True
    max_jobs: int | None = None
    max_rss: int | None = None  # bytes
    name: str = ""
    once: bool = False


@dataclass
class Worker:
    options: WorkerOptions
    identity: Identity = field(init=False)
    left_running: bool = field(default=False, init=False)  # handlers that outlived the grace
    _idle: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        options = self.options
        self.identity = Identity.new(options.name)
        self.hangar = Hangar()
        self.pace = Pace()
        self.stop_requested = threading.Event()
        self._claimed = 0
        self._threads = Threads(options.concurrency, self._done)
        self._event_loop = EventLoop(options.concurrency, self._done)
        self.finisher = Finisher(self.hangar, self._stored)
        self.claimer = Claimer(
            worker_id=self.identity.id,
            serving=Serving(options.queues, options.excluded),
            lease=options.lease,
            poll=options.poll,
            recover_every=options.recover_every,
            pace=self.pace,
            room=self._room,
            launch=self._launch,
        )
        self.beat = Beat(
            self.hangar,
            self._presence(),
            lease=options.lease,
            is_draining=self.stop_requested.is_set,
            tick=self._watch,
        )
        self.listener = Listener(self.claimer.told) if options.listen else None

    def start(self) -> None:
        logs.name_worker(self.identity.short)
        propagation.install()
        for thread in self._loops():
            thread.start()

    def drain(self, is_forced: Callable[[], bool] = lambda: False) -> None:
        """Stop claiming, let handlers finish while the grace lasts, then release, fail or leave what still runs."""
        self.stop_requested.set()
        self.claimer.stop()
        self.claimer.join()
        self._give_back(self._take_back(0.0))
        give_up = time.monotonic() + self.options.grace
        while self.hangar.open() and time.monotonic() < give_up and not is_forced():
            self._idle.wait(0.05)
            self._idle.clear()
        self._interrupt(self.hangar.open())
        self._stop_loops()

    def is_drained(self) -> bool:
        """Nothing due, nothing in hand: the end of `--once`."""
        return self.claimer.idle and not len(self.hangar) and not self.finisher.pending

    def is_spent(self) -> bool:
        """Has done its share: `--max-jobs` or `--max-rss`."""
        options = self.options
        if options.max_jobs is not None and self._claimed >= options.max_jobs:
            return True
        return options.max_rss is not None and rss_bytes() > options.max_rss

    def _loops(self) -> Iterable[threading.Thread]:
        return [loop for loop in (self.beat, self.finisher, self.claimer, self.listener) if loop is not None]

    def _room(self) -> Room:
        unstored = self.finisher.pending
        in_hand = len(self.hangar) - unstored
        left = self._left()
        if unstored > MOST_UNSTORED:
            return Room(now=0, ahead=0)
        now = max(0, min(self.options.concurrency - in_hand, left))
        ahead = self.pace.ahead()
        most = min(self.options.concurrency + ahead - in_hand - now, left - now)
        # A claim of a few rows costs as much as one of hundreds, so the buffer is filled by halves.
        return Room(now=now, ahead=most if most >= ahead // 2 else 0)

    def _left(self) -> int:
        return 10**9 if self.options.max_jobs is None else self.options.max_jobs - self._claimed

    def _launch(self, jobs: list[ClaimedJob]) -> None:
        now = time.monotonic()
        self._claimed += len(jobs)
        short: dict[str, list[Flight]] = {}
        for job in jobs:
            flight = self._board(job, now)
            self.hangar.add(flight)
            if flight.job_type.is_async:
                self._event_loop.submit(flight)
            elif self.pace.is_short(job.job_type):
                short.setdefault(job.job_type, []).append(flight)
            else:
                self._threads.submit(Chunk([flight]))
        for job_type, flights in short.items():
            size = min(self.pace.chunk(job_type), -(-len(flights) // self.options.concurrency))
            for start in range(0, len(flights), size):
                self._threads.submit(Chunk(flights[start : start + size]))

    def _board(self, job: ClaimedJob, now: float) -> Flight:
        job_type = registry.get(job.job_type)
        context = JobContext(job, worker=self.identity.short, worker_id=self.identity.id)
        return Flight(job, job_type, context, job_type.lease or self.options.lease, now)

    def _done(self, flight: Flight, report: Report | None) -> None:
        if report is None:
            self.hangar.remove(flight)
            self.finisher.counts["lost"] += 1
        else:
            self.finisher.put(report)
        if self.claimer.starved:
            self.claimer.wake.set()

    def _stored(self, report: Report) -> None:
        if report.started is not None:
            self.pace.note(report.flight.job.job_type, report.finished - report.started)
        self._idle.set()

    def _watch(self) -> None:
        """Once a second: nothing claimed waits long behind something slow."""
        waiting = self._take_back(WAIT_FOR_THREAD_SECONDS)
        free = self.options.concurrency - len(self.hangar.running())
        for flight in waiting[:free]:
            self._threads.submit(Chunk([flight]))
        self._give_back(waiting[free:] if free > 0 else waiting)

    def _take_back(self, idle_seconds: float) -> list[Flight]:
        return self._threads.take_back(idle_seconds) + self._event_loop.take_back(idle_seconds)

    def _give_back(self, flights: Iterable[Flight]) -> None:
        """Not started here: due again at once, for any worker, unspent."""
        for flight in flights:
            self._report_interrupted(flight, state="queued", error="")

    def _interrupt(self, flights: Sequence[Flight]) -> None:
        self.left_running = bool(flights)
        if not flights or self.options.on_shutdown == "leave":
            return
        state = "failed" if self.options.on_shutdown == "fail" else "queued"
        logger.warning("the grace is over: %s running jobs are %s", len(flights), state)
        for flight in flights:
            text = f"Worker shutdown (job interrupted on {self.identity.id})"
            self._report_interrupted(flight, state=state, error=text)

    def _report_interrupted(self, flight: Flight, *, state: str, error: str) -> None:
        flight.ended = True
        ended = interrupted(flight, state=state, error=error)
        self.finisher.put(Report(flight, ended, flight.started, time.monotonic()))

    def _stop_loops(self) -> None:
        for loop in (self.finisher, self.listener, self.beat):
            if loop is not None:
                loop.stop()
        self._threads.stop()
        self._event_loop.stop()
        self.finisher.join(timeout=30)
        self.beat.join(timeout=5)
        self.beat.leave()

    def _presence(self) -> Presence:
        return Presence(
            id=self.identity.id,
            name=self.options.name,
            host=self.identity.host,
            pid=self.identity.pid,
            version=jobs_app.__version__,
            queues=self.options.queues,
            excluded=self.options.excluded,
            job_types=registry.names(),
            concurrency=self.options.concurrency,
        )
