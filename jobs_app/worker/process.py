"""A worker in this process: signals, the wait for its end, the exit code."""

from __future__ import annotations

import logging
import os

from jobs_app.lifecycle.database import jobs_connection, prepare
from jobs_app.registry import registry
from jobs_app.runtime.stopping import StopSignals
from jobs_app.worker.loop import Worker, WorkerOptions

logger = logging.getLogger("jobs_app.worker")

LOOK_SECONDS = 0.1


def run_worker(options: WorkerOptions) -> int:
    """Work until told to stop, or spent, or (`once`) until nothing is due. The exit code."""
    signals = StopSignals()
    signals.install()  # before anything else: a stop during start-up counts too
    prepare(jobs_connection())
    worker = Worker(options)
    _say_what_it_serves(worker)
    worker.start()
    while not (signals.received.is_set() or worker.is_spent() or (options.once and worker.is_drained())):
        signals.received.wait(LOOK_SECONDS)
    worker.stop_requested.set()
    worker.drain(lambda: signals.forced)
    logger.info("worker stopped: %s", dict(worker.finisher.counts))
    code = 1 if signals.forced else 0
    if worker.left_running:
        logging.shutdown()
        os._exit(code)  # handlers that would not stop must not keep the process
    return code


def _say_what_it_serves(worker: Worker) -> None:
    options = worker.options
    logger.info(
        "worker %s (%s) serves %s with %s slots",
        worker.identity.short,
        worker.identity.id,
        ", ".join(options.queues) or "all queues",
        options.concurrency,
    )
    for job_type in registry:
        if job_type.is_enabled:
            logger.info("Worker registered for: %s", job_type.name)
