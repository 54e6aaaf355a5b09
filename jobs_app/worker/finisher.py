"""Reports become rows: gathered for a few milliseconds, stored in one statement, kept until they are."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from uuid import UUID

from jobs_app.computing import computing
from jobs_app.lifecycle.finish import finish, settled
from jobs_app.lifecycle.quarantine import quarantine
from jobs_app.models import Gate
from jobs_app.runtime.loops import Loop
from jobs_app.signals import job_finished
from jobs_app.worker.counting import Counting
from jobs_app.worker.flight import Hangar, Report
from jobs_app.worker.handing_over import HandingOver
from jobs_app.worker.progress import save_words
from jobs_app.worker.telling import say_failed, say_refused, tell_finished

ROWS_PER_STATEMENT = 1000
BYTES_PER_STATEMENT = 8 * 1024 * 1024  # of results, logs and tracebacks; as jsonb they may be several times larger
GATHER_SECONDS = 0.005  # a report waits this long for company
IDLE_SECONDS = 5.0


class Finisher(Loop):
    def __init__(
        self,
        hangar: Hangar,
        told: Callable[[Sequence[Report]], None],
        handing_over: HandingOver | None = None,
        ran: Callable[[Sequence[Report]], None] = lambda reports: None,
        counting: Counting | None = None,
    ) -> None:
        super().__init__("finisher")
        self._hangar = hangar
        self._ran = ran  # called with what will be stored
        self._told = told  # called with what was stored
        self._handing_over = handing_over
        self._counting = counting
        self._reports: deque[Report] = deque()
        self._batch: list[Report] = []
        self._unsure = False  # the connection broke while this batch was being stored
        self.counts: Counter[str] = Counter()

    @property
    def pending(self) -> int:
        return len(self._reports) + len(self._batch)

    def put(self, report: Report) -> None:
        self._reports.append(report)
        if not self.wake.is_set():
            self.wake.set()

    def is_done(self) -> bool:
        return self.stopping and not self.pending

    def run_once(self) -> None:
        if not self._batch:
            self._gather()
        if self._batch:
            self._store(self._batch)
            self._batch = []

    def _gather(self) -> None:
        if not self._reports and not self.stopping:
            self.pause(IDLE_SECONDS)
        if len(self._reports) < ROWS_PER_STATEMENT and not self.stopping and self._reports and not self._frees_a_key():
            time.sleep(GATHER_SECONDS)
        self.wake.clear()
        with computing():
            self._fill_batch()
            self._ran(self._batch)

    def _frees_a_key(self) -> bool:
        """Then the next job of the key waits for it, and company comes as that is stored."""
        return self._reports[0].flight.job.gate == Gate.KEY

    def _fill_batch(self) -> None:
        ids: set[int] = set()
        size = 0
        reports, batch = self._reports, self._batch
        while reports and len(batch) < ROWS_PER_STATEMENT and size < BYTES_PER_STATEMENT:
            ended = reports[0].ended
            if ended.id.int in ids:  # lost and claimed again by this very worker; accepted is known by the id alone
                return
            ids.add(ended.id.int)
            size += len(ended.result or "") + len(ended.log) + len(ended.traceback)
            batch.append(reports.popleft())

    def _store(self, batch: list[Report]) -> None:
        fresh = [report for report in batch if not report.stored]
        accepted = {report.ended.id for report in batch if report.stored}
        if fresh:
            unsure, self._unsure = self._unsure, True
            accepted |= self._send(fresh)
            if unsure:
                missing = [report.ended for report in fresh if report.ended.id not in accepted]
                accepted |= settled(self.connection, missing)
            self._unsure = False
        with computing():
            stored = self._settle(batch, accepted)
        if job_finished.receivers:  # when all of the batch is settled: a slow receiver must not keep it in hand
            for report in stored:
                flight = report.flight
                tell_finished(flight.job_type, flight.job, report.ended, flight.context.worker_id)

    def _tell_lost(self, lost: Sequence[Report]) -> None:
        self.counts["lost"] += len(lost)
        for report in lost:
            say_refused(report.flight.job, report.ended)

    def _send(self, reports: list[Report]) -> set[UUID]:
        now = time.monotonic()
        for report in reports:
            report.ended.started_ago = None if report.started is None else now - report.started
            report.ended.finished_ago = now - report.finished
        save_words(self.connection, [report.flight for report in reports])
        ended = [report.ended for report in reports]
        quarantine(self.connection, ended)
        if self._handing_over is None:
            return finish(self.connection, ended)
        straight = self._handing_over.begin()
        try:
            return finish(self.connection, ended, straight)
        finally:  # of a batch in halves one may be stored, and what it started runs
            self._handing_over.carry_out(straight)

    def _settle(self, batch: Sequence[Report], accepted: set[UUID]) -> Sequence[Report]:
        stored = batch
        if len(accepted) < len(batch):
            stored = [report for report in batch if report.ended.id in accepted]
            self._tell_lost([report for report in batch if report.ended.id not in accepted])
        if self._counting is not None:
            self._counting.ended(batch, stored)
        self._hangar.remove([report.flight for report in batch])
        self.counts.update([report.ended.state for report in stored])
        self._told(stored)
        for report in stored:
            if report.ended.state != "succeeded":
                say_failed(report.flight.job, report.ended)
        return stored
