"""A worker without threads: it claims, runs and reports when the test says so, at the moment the test says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from jobs_app.handles import RunHandle
from jobs_app.lifecycle.admit import Asking, admit
from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim
from jobs_app.lifecycle.database import frozen_clock, jobs_connection
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.gated import gated_queues
from jobs_app.lifecycle.lanes import Start, find_lanes
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.lifecycle.rules import read_rules
from jobs_app.registry import registry
from jobs_app.runtime.identity import Identity
from jobs_app.worker.flight import board
from jobs_app.worker.runner import run


def admit_all(job_types: Sequence[str]) -> None:
    """Open whatever may start now in any queue that is not paused."""
    connection = jobs_connection()
    pauses = read_pauses(connection)
    asking = Asking(
        job_types=[name for name in job_types if name not in pauses.job_types],
        rules=read_rules(connection),
        paused_subjects=sorted(pauses.subjects),
    )
    for queue in gated_queues(connection):
        is_more = pauses.allows(queue)
        while is_more:
            admitted = admit(connection, queue, asking)
            is_more = admitted.is_more and admitted.opened > 0


class HandWorker:
    def __init__(self, *, lease: float = 30) -> None:
        self.id = Identity.new().id
        self.lease = lease

    def claim(self, limit: int = 1) -> list[ClaimedJob]:
        """Take due jobs, most urgent first, under a new token."""
        connection = jobs_connection()
        job_types = [job_type.name for job_type in registry if job_type.is_enabled]
        admit_all(job_types)
        lanes = sorted(find_lanes(connection), key=lambda lane: -lane[1])
        asked = Claim(
            worker_id=self.id,
            token=uuid4(),
            job_types=job_types,
            limit=limit,
            lease=self.lease,
            leases={job_type.name: job_type.lease for job_type in registry if job_type.lease},
        )
        return claim(connection, asked, [Start(*lane) for lane in lanes])

    def run(self, job: ClaimedJob) -> Ended:
        """Call the handler; nothing is stored yet."""
        report = run(board(job, worker="hand", worker_id=self.id, lease=self.lease))
        assert report is not None, "the lease was lost inside the handler's transaction"
        return report.ended

    def report(self, ended: Ended) -> bool:
        """Store how it ended; False if the job is no longer ours."""
        return ended.id in finish(jobs_connection(), [ended])

    def work(self) -> Ended | None:
        """One due job from the claim to the stored report; None if nothing is due."""
        for job in self.claim():
            ended = self.run(job)
            assert self.report(ended)
            return ended
        return None


def live(run: RunHandle, start: datetime) -> list[datetime]:
    """Work on a run whenever it is due, from `start` on, until it has ended; the moments of its attempts."""
    moments: list[datetime] = []
    due = start
    while not run.refresh().is_finished:
        with frozen_clock(due):
            assert HandWorker().work() is not None
            moments.append(due)
            due = run.refresh().run_at
    return moments
