"""A worker without threads: jobs run here and now, on the caller's thread and connection, inside its transaction."""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Callable, Collection
from typing import NamedTuple
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.admit import ROWS_PER_STEP
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import apart, database_now, jobs_connection
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.lifecycle.recover import Recovered, recover
from jobs_app.lifecycle.take import take
from jobs_app.logs import about, event
from jobs_app.models import Hold, Job, State
from jobs_app.registry import JobType
from jobs_app.runtime.identity import Identity
from jobs_app.worker import propagation
from jobs_app.worker.desk import Asker, Desk
from jobs_app.worker.flight import Flight, Report, board
from jobs_app.worker.guest import unbroken
from jobs_app.worker.progress import save_words
from jobs_app.worker.runner import run, run_async
from jobs_app.worker.telling import tell

logger = logging.getLogger("jobs_app.worker")

LEASE_SECONDS = 3600.0  # nobody renews it here
PAUSES_SECONDS = 60.0


class Done(NamedTuple):
    """One attempt, run and stored."""

    job: ClaimedJob
    ended: Ended | None  # None: somebody else had ended the job meanwhile
    error: BaseException | None  # what the handler raised


class InlineWorker:
    """Serves the queues and job types given, one job at a time. A deadline is cooperative here, for all handlers."""

    def __init__(
        self, *, serves: Callable[[str], bool] = lambda queue: True, job_types: Collection[str] | None = None
    ) -> None:
        self._desk = Desk(serves=serves, takes=self._runs, look_every=0.0)
        self._walker = Walker()
        self._job_types = job_types
        self._identity = Identity.new("inline")
        propagation.install()

    def maintain(self) -> Recovered:
        """What workers do now and then: give back or end what was lost, end what expired, finish what pauses began."""
        connection = jobs_connection()
        self._walker.go_on(connection, PAUSES_SECONDS)
        return recover(connection, leases=get_settings().auto_recover)

    def claim(self) -> ClaimedJob | None:
        """The most urgent job that is due, now ours; None if none is."""
        connection = jobs_connection()
        self._finish_pauses(connection)
        return self._desk.claim(connection, Asker(self._identity.id, LEASE_SECONDS))

    def take(self, run_id: UUID) -> ClaimedJob | None:
        """This job, now ours; None if it may not run now."""
        connection = jobs_connection()
        if not self._due(connection, id=run_id):
            return None
        job = take(connection, run_id, worker_id=self._identity.id, lease=LEASE_SECONDS)
        return job if job and self._desk.lets_run(connection, job, self._identity.id) else None

    def due(self) -> list[tuple[UUID, str]]:
        """The id and the job type of everything that could be claimed now, most urgent first."""
        connection = jobs_connection()
        return self._due(connection)

    def work(self, job: ClaimedJob) -> Done:
        """Call the handler and store how it ended."""
        connection = jobs_connection()
        flight = self._board(job)
        errors: list[BaseException] = []
        flight.on_error = errors.append
        with unbroken():
            report = _run(flight)
        error = errors[0] if errors else None
        if report is None or not (report.stored or store(connection, report)):
            text = "job=%s was ended by somebody else while it ran; its own end is not recorded"
            logger.warning(text, job.id, extra=event("report_refused", **about(job)))
            return Done(job, None, error)
        tell(job, report.ended, self._identity.id)
        return Done(job, report.ended, error)

    def _board(self, job: ClaimedJob) -> Flight:
        return board(job, worker=self._identity.short, worker_id=self._identity.id, lease=LEASE_SECONDS)

    def _finish_pauses(self, connection: BaseDatabaseWrapper) -> None:
        """What a pause began, or the end of one, is done before anything is claimed: a job may have ended it."""
        if read_pauses(connection).are_unfinished:
            self._walker.go_on(connection, PAUSES_SECONDS)

    def _runs(self, job_type: JobType) -> bool:
        return not job_type.remote and (self._job_types is None or job_type.name in self._job_types)

    def _due(self, connection: BaseDatabaseWrapper, **conditions: object) -> list[tuple[UUID, str]]:
        self._finish_pauses(connection)
        types = self._desk.look_at_gates(connection, room=ROWS_PER_STEP)
        now = database_now(connection)
        jobs = Job.objects.using(connection.alias).filter(state=State.QUEUED, hold=Hold.OPEN, run_at__lte=now)
        jobs = jobs.exclude(expires_at__lte=now).exclude(subject__in=self._desk.pauses.subjects)
        found = jobs.filter(job_type__in=types, **conditions).order_by("-priority", "run_at", "id")
        rows = found.values_list("id", "job_type", "queue")
        return [(run_id, job_type) for run_id, job_type, queue in rows if self._desk.gates.serves(queue)]


def _run(flight: Flight) -> Report | None:
    if not flight.job_type.is_async:
        return run(flight)
    # In a context of its own, as `run` does it; its queries come back to this thread and its connection.
    return contextvars.copy_context().run(async_to_sync(run_async), flight)


def store(connection: BaseDatabaseWrapper, report: Report) -> bool:
    """Write how one attempt ended; False if the job is not ours any more."""
    ended = report.ended
    ended.started_ago = None if report.started is None else time.monotonic() - report.started
    with apart(connection):
        save_words(connection, [report.flight])
    return ended.id in finish(connection, [ended])
