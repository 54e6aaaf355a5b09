"""`run_jobs`: what is due runs now, inside the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from fnmatch import fnmatchcase
from typing import overload
from uuid import UUID

from jobs_app.errors import Directive, EndlessJobs
from jobs_app.handles import RunHandle
from jobs_app.options import Duration
from jobs_app.testing.clock import freeze_clock
from jobs_app.testing.naming import AnyJob, names_of
from jobs_app.testing.reading import handles_of
from jobs_app.worker.inline import Done, InlineWorker


class RanJobs(Sequence[RunHandle]):
    """The runs that `run_jobs` worked on or saw expire, in that order, each as it was at the end."""

    def __init__(self, runs: Sequence[RunHandle]) -> None:
        self._runs = list(runs)

    @property
    def succeeded(self) -> list[RunHandle]:
        return self._with("succeeded")

    @property
    def failed(self) -> list[RunHandle]:
        return self._with("failed")

    @property
    def cancelled(self) -> list[RunHandle]:
        return self._with("cancelled")

    @property
    def retrying(self) -> list[RunHandle]:
        """Waiting for another attempt: after an error, a `Retry` or a `Snooze`."""
        return self._with("retrying")

    @overload
    def __getitem__(self, place: int) -> RunHandle: ...

    @overload
    def __getitem__(self, place: slice) -> list[RunHandle]: ...

    def __getitem__(self, place: int | slice) -> RunHandle | list[RunHandle]:
        return self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        counts = Counter((run.job_type, run.status) for run in self)
        told = ", ".join(f"{count} {job_type} {status}" for (job_type, status), count in counts.items())
        return f"<RanJobs: {told or 'none'}>"

    def _with(self, status: str) -> list[RunHandle]:
        return [run for run in self if run.status == status]


def run_jobs(
    *,
    queues: str | Iterable[str] | None = None,
    job_types: AnyJob | Iterable[AnyJob] | None = None,
    limit: int = 1000,
    at: datetime | Duration | None = None,
    until_empty: bool = True,
    raise_errors: bool = True,
) -> RanJobs:
    """Run what is due, one job after another, on this thread, on this connection and in this transaction.

    It is the worker's own claim, runner and finish, so that attempts, retries, results, limits and pauses are as in
    production. Jobs that jobs enqueue run too, until nothing is due, and it is an error (`EndlessJobs`) if something
    still is after `limit` attempts; with `until_empty=False` only what is due at the call. `queues` (names or patterns)
    and `job_types` leave out the others; `at` puts the clock at a moment, or so far from now, for this call.

    An error that a handler did not mean is raised as soon as its attempt is recorded, also where another attempt would
    follow: a test that does not look for an error must not pass over one. Directives (`Retry`, `Snooze`, `Fail`,
    `Cancel`) are answers and are not raised. `raise_errors=False` records every error as production does, and goes on.
    """
    names = [queues] if isinstance(queues, str) else queues if queues is None else list(queues)
    worker = InlineWorker(serves=lambda queue: _fits(queue, names), job_types=names_of(job_types))
    with nullcontext() if at is None else freeze_clock(at):
        ran: dict[UUID, None] = dict.fromkeys(sorted(worker.maintain().expired))
        for done in _attempts(worker, limit, until_empty=until_empty):
            ran[done.job.id] = None
            if done.error is not None and (raise_errors or isinstance(done.error, KeyboardInterrupt)):
                _raise_unless_meant(done, done.error)
        return RanJobs(handles_of(ran))


def _attempts(worker: InlineWorker, limit: int, *, until_empty: bool) -> Iterator[Done]:
    if not until_empty:
        for run_id, _ in worker.due():
            if job := worker.take(run_id):
                yield worker.work(job)
        return
    counts: Counter[str] = Counter()
    while job := worker.claim():
        yield worker.work(job)
        counts[job.job_type] += 1
        if counts.total() >= limit and (more := worker.due()):
            raise EndlessJobs(_why_endless(counts, Counter(job_type for _, job_type in more)))


def _raise_unless_meant(done: Done, error: BaseException) -> None:
    if isinstance(error, Directive):
        return
    job = done.job
    error.add_note(
        f"Raised by job {job.job_type} (run {job.id}, attempt {job.counted_attempts} of {job.max_attempts}) in "
        "run_jobs(). The attempt is recorded; run_jobs(raise_errors=False) would have gone on."
    )
    raise error


def _why_endless(ran: Counter[str], due: Counter[str]) -> str:
    return (
        f"run_jobs() did {_told(ran)}, and {_told(due)} are due. Does a job enqueue itself for ever? Give a higher "
        "limit=, fewer job_types=, or run only what is due now with until_empty=False."
    )


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {job_type}" for job_type, count in counts.most_common())


def _fits(queue: str, names: Sequence[str] | None) -> bool:
    return names is None or any(fnmatchcase(queue, name) for name in names)
