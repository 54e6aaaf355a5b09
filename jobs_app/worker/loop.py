"""One worker process: its threads, wired together, from start to a clean end."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import jobs_app
from jobs_app import logs
from jobs_app.conf import get_settings
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.presence import Presence
from jobs_app.logs import about, event
from jobs_app.registry import registry
from jobs_app.runtime.identity import Identity
from jobs_app.runtime.janitor import Janitor, usual_chores
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.memory import rss_bytes
from jobs_app.runtime.unscheduled import enqueue_own
from jobs_app.serving import Serving
from jobs_app.worker import propagation, tidying
from jobs_app.worker.beat import Beat
from jobs_app.worker.claimer import MOST_UNSTORED, Claimer
from jobs_app.worker.counting import Counting
from jobs_app.worker.crew import Crew
from jobs_app.worker.finisher import Finisher
from jobs_app.worker.flight import Flight, Hangar, Report, board
from jobs_app.worker.handing_over import HandingOver
from jobs_app.worker.listener import Listener
from jobs_app.worker.options import WorkerOptions as WorkerOptions
from jobs_app.worker.pace import Pace
from jobs_app.worker.portions import Room
from jobs_app.worker.reserved_slot import ReservedSlot
from jobs_app.worker.runner import interrupted
from jobs_app.worker.serving import ServedTypes
from jobs_app.worker.telling import say_stopping
from jobs_app.worker.verdicts import tell_if_overdue

logger = logging.getLogger("jobs_app.worker")

WAIT_FOR_THREAD_SECONDS = 1.0  # a claimed job that has not started by then goes to a free thread, or back
SLOW_SECONDS = 0.1  # a handler that runs for so long gives no thread back soon
STOP_CLAIMING_SECONDS = 5.0  # the claim that is under way is waited for, but not for ever
FLUSH_SECONDS = 8.0  # and so are the last reports, if the database does not answer
LOOK_SECONDS = 0.05
FIRST_CHORES_SECONDS = 20.0  # a worker that starts has better things to do; a scheduler beside it is known by then
STATE_AFTER = {"release": "queued", "fail": "failed"}


@dataclass
class Worker:
    options: WorkerOptions
    identity: Identity = field(init=False)
    left_running: bool = field(default=False, init=False)  # handlers in threads that outlived the grace
    _idle: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        options = self.options
        self.identity = Identity.new(options.name)
        self._id, self._short_name = self.identity.id, self.identity.short
        self.hangar, self.pace = Hangar(), Pace()
        self.stop_requested = threading.Event()
        self.drain_requested = threading.Event()  # by an operator
        self._claimed = 0
        self._enough = options.concurrency  # in hand; with fewer there is room for more
        self._stored_at = float("-inf")
        self._crew = Crew(options.concurrency, self.pace, self._done)
        self._serving = Serving(options.queues, options.excluded)
        self.types = ServedTypes(self._crew.is_loop_blocked)
        stays = not options.once  # the app's own chores are for workers that do
        seen_to = [*usual_chores(), enqueue_own] if stays else usual_chores()
        self.janitor = Janitor(seen_to, first_after=FIRST_CHORES_SECONDS if stays else 0.0)
        self.chores = ReservedSlot(self.identity, lease=options.lease, may_take=lambda _: self.beat.is_announced)
        self._aside: list[Loop] = [self.janitor, self.chores] if stays else [self.janitor]
        self.claimer = Claimer(
            worker_id=self.identity.id,
            serving=self._serving,
            options=options,
            pace=self.pace,
            types=self.types,
            room=self._room,
            in_hand=lambda: [flight.job for flight in self.hangar.open()],
            launch=self._launch,
            call_janitor=self.janitor.wake.set,
            call_chores=self.chores.wake.set,
        )
        self.handing_over = HandingOver(self.claimer, self._launch, may_start=self._may_start)
        self._counting = Counting(options.concurrency) if options.counts else None
        self.finisher = Finisher(self.hangar, self._stored, self.handing_over, self._ran, self._counting)
        self.beat = Beat(
            self.hangar,
            self._presence(),
            lease=lambda: options.lease_seconds,
            is_draining=self.stop_requested.is_set,
            drain=self._take_no_more,
            tick=self._watch,
            abort=self._crew.abort,
            announced=self.claimer.wake.set,
        )
        self.listener = Listener(self.claimer.told) if options.listen else None

    def start(self) -> None:
        logs.name_worker(self.identity.short)
        propagation.install()
        tidying.install()
        if self._serves_processes():
            self._crew.warm()
        for loop in (self.beat, self.finisher, self.claimer, self.listener, *self._aside):
            if loop is not None:
                loop.start()

    def drain(
        self, is_forced: Callable[[], bool] = lambda: False, is_hurried: Callable[[], bool] = lambda: True
    ) -> None:
        """Stop claiming, let handlers finish while the grace lasts, then release, fail or leave what still runs.

        The grace begins when somebody is in a hurry: who only drains has all the time that its jobs take.
        """
        self.stop_requested.set()
        give_up = self._begin_grace() if is_hurried() else math.inf
        for loop in self._aside:
            loop.stop()
        self.claimer.stop()
        self.claimer.join(STOP_CLAIMING_SECONDS)
        self._give_back(self._crew.take_back())
        self._wait_for_handlers(give_up, is_forced, is_hurried)
        self._interrupt(self.hangar.open(), forced=is_forced())
        self._stop_loops()

    def is_drained(self) -> bool:
        """The end of `--once`: nothing in hand, and nothing due since the last report, which may have made some due."""
        in_hand = len(self.hangar) or self.finisher.pending
        return not in_hand and self.claimer.empty_at > self._stored_at

    def is_spent(self) -> bool:
        """Has done its share: `--max-jobs`, and they are done, or `--max-rss`, and something is done."""
        options = self.options
        if options.max_jobs is not None and self._claimed >= options.max_jobs:
            return not len(self.hangar)
        return options.max_rss is not None and self._stored_at > 0 and rss_bytes() > options.max_rss

    def _take_no_more(self) -> None:
        """At once, on the thread that hears of it; the main thread, which looks now and then, does the rest."""
        self.stop_requested.set()
        self.drain_requested.set()

    def _wait_for_handlers(self, give_up: float, is_forced: Callable[[], bool], is_hurried: Callable[[], bool]) -> None:
        while self.hangar.open() and time.monotonic() < give_up and not is_forced():
            self._idle.wait(LOOK_SECONDS)
            self._idle.clear()
            if give_up == math.inf and is_hurried():
                give_up = self._begin_grace()

    def _begin_grace(self) -> float:
        """When it is over. Said at once: until then nothing else may be heard of this worker."""
        grace = self.options.grace_seconds
        if running := len(self.hangar.running()):
            say_stopping(running, grace=grace)
        return time.monotonic() + grace

    def _room(self) -> Room:
        in_hand = self._in_hand()
        left = self._left()
        ahead = self.pace.ahead(self.options.concurrency)
        self._enough = self.options.concurrency + ahead // 2
        if self.finisher.pending > MOST_UNSTORED or not self.beat.is_announced or self.stop_requested.is_set():
            return Room(now=0, ahead=0)
        now = max(0, min(self.options.concurrency - in_hand, left))
        # A claim of a few rows costs as much as one of hundreds, so the buffer is filled by halves.
        if in_hand + now > self._enough:
            return Room(now=now, ahead=0)
        running, slow = self.hangar.count_running(SLOW_SECONDS)
        if slow >= self.options.concurrency:
            return Room(now=now, ahead=0)
        ahead = min(self.options.concurrency + ahead - in_hand - now, left - now)
        return Room(now=now, ahead=ahead, beside=max(0, min(self.options.concurrency - running, left)))

    def _serves_processes(self) -> bool:
        return any(job_type.isolation == "process" and self._serving(job_type.queue) for job_type in registry)

    def _in_hand(self) -> int:
        """Waiting for a thread, or running."""
        return len(self.hangar) - self.finisher.pending

    def _left(self) -> int:
        return 10**9 if self.options.max_jobs is None else self.options.max_jobs - self._claimed

    def _launch(self, jobs: Sequence[ClaimedJob]) -> None:
        self._claimed += len(jobs)
        lease = self.options.lease_seconds
        flights = [board(job, worker=self._short_name, worker_id=self._id, lease=lease) for job in jobs]
        self.hangar.add(flights)
        if self.stop_requested.is_set():  # it came while this claim was under way
            self._give_back(flights)
        else:
            self._crew.launch(self._defer(flights) if self.claimer.calendar else flights)

    def _defer(self, flights: Sequence[Flight]) -> Sequence[Flight]:
        """Those that met no maintenance window. The others are not ours to run now, and count as not claimed."""
        met = self.claimer.calendar.met([flight.job for flight in flights])
        self._claimed -= len(met)
        for flight in flights:
            if flight.job.id in met and flight.end():
                self.finisher.put(Report(flight, met[flight.job.id], None, time.monotonic()))
        return [flight for flight in flights if flight.job.id not in met]

    def _done(self, flight: Flight, report: Report | None) -> None:
        if report is None:
            self.hangar.remove([flight])
            self.finisher.counts["lost"] += 1
            if self._counting is not None:
                self._counting.lost([flight])
        else:
            self.finisher.put(report)
            if not self.pace.is_known(flight.job.job_type):
                self._ran([report])  # at once: until then jobs are claimed one by one
                flight.is_noted = True
        self._wake_claimer()

    def _ran(self, reports: Sequence[Report]) -> None:
        """Before they are stored: how many to claim next is to be known soon."""
        durations: dict[str, list[float]] = {}
        for report in reports:
            if report.started is not None and not report.flight.is_noted:
                durations.setdefault(report.flight.job.job_type, []).append(report.finished - report.started)
        for job_type, seconds in durations.items():
            self.pace.note(job_type, sum(seconds), len(seconds))
        self._wake_claimer()

    def _may_start(self) -> bool:
        """What a report gives its key to: not while stopping, nor where only the claimer counts to the last job."""
        return not self.stop_requested.is_set() and self.options.max_jobs is None

    def _stored(self, reports: Sequence[Report]) -> None:
        self.handing_over.tell_freed(reports)
        self._stored_at = time.monotonic()
        if not self._idle.is_set():
            self._idle.set()
        self._wake_claimer(anyway=self.options.once)  # it may have made something due

    def _wake_claimer(self, *, anyway: bool = False) -> None:
        """Not at each of thousands of short jobs: when there is room again for many of them, or for a long one."""
        # What was left behind by the last claim, if anything, is not short and waits for a thread.
        enough = self.options.concurrency - 1 if self.claimer.is_sated else self._enough
        has_room = self.claimer.starved and self._in_hand() <= enough and self.finisher.pending <= MOST_UNSTORED
        if (has_room or anyway) and not self.claimer.wake.is_set():
            self.claimer.wake.set()

    def _watch(self) -> None:
        """Once a second."""
        running = self.hangar.running()
        if self._counting is not None:
            self._counting.watch(running, draining=self.stop_requested.is_set())
        for flight in running:  # first: what is given back may take a while, and some of these end meanwhile
            tell_if_overdue(flight)
        self._give_back(self._crew.hurry(WAIT_FOR_THREAD_SECONDS, running=len(running)))

    def _give_back(self, flights: Iterable[Flight]) -> None:
        """Not started here: due again at once, for any worker, unspent."""
        for flight in flights:
            self._report_interrupted(flight, state="queued", error="")

    def _interrupt(self, flights: Sequence[Flight], *, forced: bool) -> None:
        self.left_running = any(flight.job_type.isolation == "thread" for flight in flights)
        for flight in flights:
            fate = "release" if forced else self._fate(flight)
            facts = event("job_interrupted", **about(flight.job), fate=fate)
            text = "job=%s still runs as the worker stops; what becomes of it: %s"
            logger.warning(text, flight.job.id, fate, extra=facts)
            if fate != "leave":
                text = f"Worker shutdown (job interrupted on {self.identity.id})"
                self._report_interrupted(flight, state=STATE_AFTER[fate], error=text)

    def _fate(self, flight: Flight) -> str:
        preset = flight.job_type.preset
        return self.options.on_shutdown or (preset.on_shutdown if preset else get_settings().on_shutdown)

    def _report_interrupted(self, flight: Flight, *, state: str, error: str) -> None:
        if flight.end():
            self._crew.abandon(flight)  # before anybody else may run it
            ended = interrupted(flight, state=state, error=error)
            self.finisher.put(Report(flight, ended, flight.started, time.monotonic()))

    def _stop_loops(self) -> None:
        """In this order: the reports first, and the heartbeat says good-bye last."""
        self._flush()
        self._crew.stop()
        self.finisher.stop()
        if self.listener is not None:
            self.listener.stop()
        self.finisher.join(LOOK_SECONDS)
        for loop in self._aside:
            loop.join(STOP_CLAIMING_SECONDS)
        self.beat.stop()
        self.beat.join(STOP_CLAIMING_SECONDS)

    def _flush(self) -> None:
        give_up = time.monotonic() + FLUSH_SECONDS
        while self._is_anything_unstored() and time.monotonic() < give_up:
            self._idle.wait(LOOK_SECONDS)
            self._idle.clear()

    def _is_anything_unstored(self) -> bool:
        return self.finisher.pending > 0 or any(flight.ended for flight in self.hangar.all())

    def _presence(self) -> Presence:
        return Presence(
            id=self.identity.id,
            name=self.options.name,
            host=self.identity.host,
            pid=self.identity.pid,
            version=jobs_app.__version__,
            queues=self.options.queues,
            excluded=self.options.excluded,
            job_types=[job_type.name for job_type in registry if not job_type.remote],
            concurrency=self.options.concurrency,
        )
