"""A worker in this process: signals, the wait for its end, the exit code."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import NoReturn

from jobs_app.health import Health
from jobs_app.lifecycle.database import jobs_connection, prepare
from jobs_app.logs import event
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.runtime.enabled import is_enabled
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.memory import calm_collector
from jobs_app.runtime.pulse import Shown, examine
from jobs_app.runtime.stopping import StopSignals
from jobs_app.worker.loop import Worker, WorkerOptions

logger = logging.getLogger("jobs_app.worker")

LOOK_SECONDS = 0.1
DRAINED = 20  # how a process under a supervisor says that nobody is to take its place
BECAME = {  # state -> words
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "queued": "queued again",
    "lost": "lost",
}
LAST_SECONDS = 5.0  # what threads that handlers left behind get, when everything else has ended


def run_worker(
    options: WorkerOptions,
    signals: StopSignals,
    *,
    beside: Sequence[Loop] = (),
    parent: int | None = None,
    ready: Callable[[], object] = lambda: None,
    shown: Shown = nullcontext,
) -> int:
    """Work until told to stop, or drained, or spent, or (`once`) until nothing is due. The exit code.

    `beside` are loops that share the process; `parent` is the process without which this one must not live; `shown` is
    how monitoring sees it, from start to end.
    """
    prepare(jobs_connection())
    jobs_connection().close()  # each thread has a connection of its own; this one has none to do
    worker = Worker(options)
    calm_collector()
    with shown(lambda: health_of(worker, beside)):
        _say_what_it_serves(worker)
        worker.start()
        for loop in beside:
            loop.start()
        ready()
        while not _is_over(worker, signals, parent):
            signals.received.wait(LOOK_SECONDS)
        _end(worker, signals, parent, beside)
        code = _code(worker, signals, parent)  # now: who is in a hurry after this gives up a scrape, and no job
    counts = dict(worker.finisher.counts)
    logger.info("worker stopped: %s", in_words(counts), extra=event("worker_stopped", counts=counts))
    if worker.left_running:
        _exit_now(code)  # handlers that would not stop must not keep the process
    return code


def in_words(counts: Mapping[str, int]) -> str:
    """What became of the jobs that a worker had: 1 succeeded, 4 queued again."""
    return ", ".join(f"{counts[state]} {words}" for state, words in BECAME.items() if counts.get(state)) or "no jobs"


def health_of(worker: Worker, beside: Sequence[Loop]) -> Health:
    """Of the loops without which nothing is worked off. One that drains is alive, and nobody should count on it."""
    health = examine([worker.beat, worker.claimer, worker.finisher, *beside])
    if worker.stop_requested.is_set():
        return health._replace(unready=["it takes no more jobs"])
    return health


def _end(worker: Worker, signals: StopSignals, parent: int | None, beside: Sequence[Loop]) -> None:
    """What shares the process of a worker that only drains goes on until its last job has ended, maybe for hours."""

    def is_hurried() -> bool:
        return signals.received.is_set() or not worker.drain_requested.is_set() or _is_orphan(parent)

    if is_hurried():
        _stop(beside)
    worker.drain(lambda: signals.forced, is_hurried)
    _stop(beside)
    for loop in beside:
        loop.join(LAST_SECONDS)  # it has a last word for the database


def _stop(loops: Sequence[Loop]) -> None:
    for loop in loops:
        loop.stop()


def _code(worker: Worker, signals: StopSignals, parent: int | None) -> int:
    if signals.forced:
        return 1
    return DRAINED if parent is not None and worker.drain_requested.is_set() else 0


def exit_soon(code: int) -> NoReturn:
    """End this process, also if threads that handlers started never do."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # an ending Python gives its handlers up, and one more TERM would kill it
    timer = threading.Timer(LAST_SECONDS, _exit_now, [code])
    timer.daemon = True
    timer.start()
    sys.exit(code)


def _exit_now(code: int) -> NoReturn:
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _is_over(worker: Worker, signals: StopSignals, parent: int | None) -> bool:
    if signals.received.is_set() or worker.drain_requested.is_set() or worker.is_spent():
        return True
    if _is_orphan(parent):
        logger.warning("the supervisor is gone; stopping", extra=event("supervisor_gone"))
        return True
    return worker.options.once and worker.is_drained()


def _is_orphan(parent: int | None) -> bool:
    return parent is not None and os.getppid() != parent


def _say_what_it_serves(worker: Worker) -> None:
    options = worker.options
    logger.info(
        "worker %s (%s) serves %s%s with %s slots",
        worker.identity.short,
        worker.identity.id,
        ", ".join(options.queues) or "all queues",
        f" but not {', '.join(options.excluded)}" if options.excluded else "",
        options.concurrency,
        extra=event(
            "worker_started", worker_id=worker.identity.id, queues=list(options.queues), slots=options.concurrency
        ),
    )
    for job_type in registry:
        if job_type.queue != SYSTEM_QUEUE and not job_type.remote and is_enabled(job_type):
            facts = event("job_type_registered", job_type=job_type.name)
            logger.info("Worker registered for: %s", job_type.name, extra=facts)
