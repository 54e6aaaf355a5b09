"""The loop of a worker: pull a job, run its handler, report how it ended, and stop when told to."""

from __future__ import annotations

import logging
import math
import os
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any
from uuid import uuid4

from .calls import JobsClient, delay_after
from .errors import ClientError, JobCancelled, JobEnded, LeaseLost, Refused, Release, failure
from .job import RemoteJob

logger = logging.getLogger("jobs_app.client")

RELEASE_SECONDS = 5.0  # what giving jobs back may take when the worker must go
IDLE_SECONDS = 3.0  # the shortest turn without a job, where the server does not wait
ONCE_WAIT_SECONDS = 2  # what another web process, a key or a limit lets in a moment later is also due
ONCE_FAILURES = 5  # after so many in a row a worker that is to end anyway does
IGNORE_SECONDS = 2.0  # terminals and supervisors often send a signal twice; a later one means it
LOOK_SECONDS = 0.1

Handler = Callable[[RemoteJob], Any]


class RemoteWorker:
    """Pulls jobs and runs them, `concurrency` at once. `handler` is a function, or one for each job type."""

    def __init__(
        self,
        client: JobsClient,
        handler: Handler | Mapping[str, Handler],
        *,
        queues: Sequence[str] = (),
        job_types: Sequence[str] = (),
        worker_id: str = "",
        lease_sec: int | None = None,
        wait_sec: int = 20,
        concurrency: int = 1,
        grace: float = 25,
        once: bool = False,
    ) -> None:
        if concurrency < 1 or wait_sec < 0 or grace < 0:
            raise ValueError("concurrency is 1 or more; wait and grace are seconds from 0 upwards")
        self.worker_id = worker_id or _own_name()
        self._client, self._handler, self._once = client, handler, once
        self._concurrency, self._grace = concurrency, grace
        job_types = job_types or (list(handler) if isinstance(handler, Mapping) else ())
        # A pull that waits when the worker is told to stop is not cut: the job that it may bring would be lost for a
        # lease. It ends within the grace, and gives that job back.
        wait = ONCE_WAIT_SECONDS if once else int(min(wait_sec, max(0, grace - RELEASE_SECONDS)))
        self._asked: dict[str, Any] = {"queues": queues, "job_types": job_types, "lease_sec": lease_sec}
        self._asked |= {"wait_sec": wait, "concurrency": concurrency}
        self._running: set[RemoteJob] = set()
        self._stop = threading.Event()  # stopping: what runs has the grace to end
        self._stopped_at = math.inf
        self._is_closed = False  # no more pulls, and what runs goes on to its end
        self._signals: list[float] = []
        self._code = 0

    def run(self) -> int:
        """Work until stopped, drained, refused or (`once`) nothing is due. The code: 0 ended, 1 forced, 2 refused."""
        logger.info("worker %s begins", self.worker_id)
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self._concurrency)]
        for thread in threads:
            thread.start()
        while not self._is_time_over() and (alive := [thread for thread in threads if thread.is_alive()]):
            alive[0].join(LOOK_SECONDS)
        self._give_back()
        logger.info("worker %s ends", self.worker_id)
        with closing(self._client), suppress(ClientError):
            self._client.leave(self.worker_id)
        return self._code

    def stop(self) -> None:
        """Pull no more, and end when what runs has ended or the grace is over."""
        if not self._stop.is_set():
            logger.info("stopping: what runs has %.0f s to end", self._grace)
            self._stopped_at = time.monotonic()
            self._stop.set()

    def on_signal(self, *_: object) -> None:
        """To be installed for TERM and INT. It takes no lock: the thread that it interrupts may hold it."""
        self._signals.append(time.monotonic())

    @property
    def left_running(self) -> bool:
        """Handlers did not end in time, and only the end of the process will end them."""
        return bool(self._running)

    def _is_time_over(self) -> bool:
        if self._signals:
            self.stop()
            if self._signals[-1] - self._signals[0] > IGNORE_SECONDS:
                self._code = 1
                return True
        return time.monotonic() - self._stopped_at >= self._grace

    def _give_back(self) -> None:
        give_up = time.monotonic() + RELEASE_SECONDS
        for job in list(self._running):
            left = max(1.0, give_up - time.monotonic())
            self._end(job, {"release": True}, patience=left, timeout=left)

    def _close(self, code: int) -> None:
        self._is_closed = True
        self._code = self._code or code

    def _serve(self) -> None:
        """One thread: a job after the other."""
        failures = 0
        with closing(self._client):
            while not self._stop.is_set() and not self._is_closed:
                try:
                    self._turn()
                    failures = 0
                except ClientError as error:
                    self._take_failure(error, failures)
                    failures += 1
                except Exception:
                    logger.exception("an error of this client itself")
                    self._close(1)

    def _turn(self) -> None:
        began = time.monotonic()
        answer = self._client.pull(self.worker_id, **self._asked)
        logger.debug("pull: %s", answer["reason"] or "a job")
        if answer["job"]:
            self._work(RemoteJob(self._client, answer["job"], self._stop))
        elif answer["reason"] == "draining" or (self._once and answer["reason"] != "busy"):
            logger.info("no more jobs: %s", answer["reason"])
            self._close(0)
        else:
            self._stop.wait(max(0.0, began + IDLE_SECONDS - time.monotonic()))

    def _take_failure(self, error: ClientError, failures: int) -> None:
        is_for_good = isinstance(error, Refused) and error.status < 500 and not error.is_passing
        if is_for_good or (self._once and failures + 1 >= ONCE_FAILURES):
            logger.error("the worker ends, since pulling again would not help: %s", error)
            self._close(2)
        else:
            delay = delay_after(error, failures)
            logger.warning("pulling again in %.1f s: %s", delay, error)
            self._stop.wait(delay)

    def _work(self, job: RemoteJob) -> None:
        self._running.add(job)  # before the look at the stop, so that one of the two threads gives it back
        if self._stop.is_set():
            self._end(job, {"release": True})
        else:
            logger.info("job=%s type=%s attempt=%s", job.job_id, job.job_type, job.attempt)
            threading.Thread(target=job.beat, daemon=True).start()
            self._end(job, self._outcome(job))
        self._running.discard(job)

    def _outcome(self, job: RemoteJob) -> dict[str, Any]:
        """Call the handler; the fields of the report that says how it ended."""
        try:
            handler = self._handler[job.job_type] if isinstance(self._handler, Mapping) else self._handler
            result = handler(job)
        except JobEnded:
            return {"done": True}
        except Release:
            return {"release": True}
        except JobCancelled as asked:
            return failure(asked)
        except BaseException as error:  # also of sys.exit(): a thread that is gone reports nothing
            job.log(traceback.format_exc())
            return failure(error)
        return {"done": True} if result is None else {"done": True, "result": result}

    def _end(self, job: RemoteJob, fields: Mapping[str, Any], **limits: float) -> None:
        try:
            job.finish(fields, **limits)
        except LeaseLost:
            return  # the job has told it
        except ClientError as error:
            logger.warning("job=%s: its end was not taken, and another worker will get it: %s", job.job_id, error)


def _own_name() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{uuid4().hex[:4]}"
