"""Looking at what is enqueued, and failing in words that show what is there instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from jobs_app.handles import RunHandle
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.models import JobRun, Run
from jobs_app.testing.naming import AnyJob, definition_of
from jobs_app.testing.reading import queued_runs
from jobs_app.testing.wanted import Criteria, Wanted
from jobs_app.text import clean

MOST_SHOWN = 10


def enqueued_jobs(job: AnyJob | None = None, **criteria: Unpack[Criteria]) -> list[RunHandle]:
    """The jobs that wait and fit, in the order of their enqueue: due or not, held or paused, tried before or not."""
    wanted = _wanted(job, criteria)
    return [RunHandle(run.pk, run) for run in _fitting(wanted, queued_runs())]


def assert_enqueued(
    job: AnyJob | None = None, *, count: int | None = None, **criteria: Unpack[Criteria]
) -> list[RunHandle]:
    """That such a job waits: at least one, or exactly `count`. Gives them back."""
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    wanted = _wanted(job, criteria)
    waiting = queued_runs()
    found = _fitting(wanted, waiting)
    if count is None and not found:
        raise AssertionError(_text([f"No {wanted} is enqueued.", *_instead(wanted, waiting)]))
    if count is not None and len(found) != count:
        others = [run for run in waiting if run not in found]
        listed = [_line(run) for run in found[:MOST_SHOWN]]
        raise AssertionError(
            _text([f"{len(found)} enqueued, not {count}: {wanted}.", *listed, *_instead(wanted, others)])
        )
    return [RunHandle(run.pk, run) for run in found]


def assert_not_enqueued(job: AnyJob | None = None, **criteria: Unpack[Criteria]) -> None:
    """That no such job waits; with nothing given, that none does at all."""
    __tracebackhide__ = True
    wanted = _wanted(job, criteria)
    found = _fitting(wanted, queued_runs())
    if found:
        listed = [_line(run) for run in found[:MOST_SHOWN]]
        raise AssertionError(_text([f"{len(found)} enqueued, not 0: {wanted}.", *listed, *_rest(found)]))


def _wanted(job: AnyJob | None, criteria: Criteria) -> Wanted:
    return Wanted(None if job is None else definition_of(job).name, criteria)


def _fitting(wanted: Wanted, runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if not wanted.differences(run)]


def _instead(wanted: Wanted, runs: Sequence[Run]) -> Iterator[str]:
    """What is there, nearest first, each with what is wrong about it."""
    if not runs:
        yield "Nothing else is enqueued."
    nearest = sorted(runs, key=lambda run: (run.job_type != wanted.job_type, len(wanted.differences(run))))
    if nearest:
        yield "Enqueued instead, nearest first:"
    for run in nearest[:MOST_SHOWN]:
        yield _line(run)
        if run.job_type == wanted.job_type or wanted.job_type is None:
            yield from (f"    {difference}" for difference in wanted.differences(run))
    yield from _rest(nearest)
    yield from _hints(wanted)


def _hints(wanted: Wanted) -> Iterator[str]:
    ended = JobRun.objects.using(jobs_connection().alias).filter(job_type=wanted.job_type)
    if states := Counter(ended.values_list("state", flat=True)):
        told = ", ".join(f"{count} {state}" for state, count in states.items())
        yield f"Runs of {wanted.job_type} that have ended already: {told}."
    if callbacks := len(jobs_connection().run_on_commit):
        yield (
            f"This transaction has {callbacks} on_commit callbacks that have not run. If one of them enqueues, wrap "
            "the code under test in captureOnCommitCallbacks(execute=True)."
        )


def _line(run: Run) -> str:
    status = RunHandle(run.pk, run).status
    about = f" subject={run.subject!r}" if run.subject else ""
    due = "" if status == "queued" else f" {status}, due {run.run_at:%Y-%m-%d %H:%M:%S %Z}"
    return clean(f"  {run.job_type} queue={run.queue!r}{about} payload={run.payload!r}{due}", 300)


def _rest(runs: Sequence[Run]) -> list[str]:
    more = len(runs) - MOST_SHOWN
    return [f"  ... and {more} more"] if more > 0 else []


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines)
