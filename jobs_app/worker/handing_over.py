"""What becomes of the keys that a batch of reports frees: said before it is stored, and carried out after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jobs_app.computing import computing
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.hand_over import Straight
from jobs_app.models import Gate
from jobs_app.worker.claimer import Claimer
from jobs_app.worker.flight import Report


class HandingOver:
    """Between the finisher, in whose thread all of this runs, and the claimer."""

    def __init__(
        self, claimer: Claimer, launch: Callable[[Sequence[ClaimedJob]], None], *, may_start: Callable[[], bool]
    ) -> None:
        self._claimer = claimer
        self._launch = launch
        self._may_start = may_start
        self._straight = Straight()  # of the batch that is stored

    def begin(self) -> Straight:
        """Who may be given a key that this batch frees."""
        straight = self._straight = self._claimer.straight
        if not self._may_start():
            straight.claim = None
        return straight

    def carry_out(self, straight: Straight) -> None:
        """What got its key is started, or may be claimed, or is looked at again."""
        if straight.claimed:
            with computing():
                self._launch(straight.claimed)
        if straight.opened or straight.woken:
            self._claimer.freed(straight.woken, straight.opened)

    def tell_freed(self, reports: Iterable[Report]) -> None:
        """Let admission look into the queues where more was freed than a key that was given on."""
        if queues := {report.flight.job.queue for report in reports if self._frees_more(report)}:
            self._claimer.freed(queues)

    def _frees_more(self, report: Report) -> bool:
        job = report.flight.job
        if job.gate == Gate.NONE:
            return False
        is_given_on = self._straight.covers(job.queue, job.job_type) and report.ended.state != "queued"
        return report.stored or not is_given_on
