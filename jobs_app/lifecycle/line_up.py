"""Of new jobs that are stored together and share a key, all but the first wait for it from the beginning.

Admission need not look at them: the first one is stored by the same statement, so whoever ends it, cancels it, parks it
or sends it back sees them, and wakes the next. 100,000 jobs of one key in front of others cost those nothing then; to
look at each of them took 5 seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs_app.lifecycle.new_job import NewJob, may_be_refused
from jobs_app.models import Gate, Policy


def line_up(jobs: Sequence[NewJob]) -> Sequence[NewJob]:
    """Say of each whether it stands behind another one of these."""
    if may_be_refused(jobs):  # then so may be the one that others stand behind
        return jobs
    first: dict[tuple[str, ...], NewJob] = {}
    for job in jobs:
        if _may_stand_in_line(job):
            ahead = first.setdefault(_line(job), job)
            if _urgency(job) < _urgency(ahead):
                first[_line(job)] = job
    return [job._replace(follows=True) if _follows(job, first) else job for job in jobs]


def _may_stand_in_line(job: NewJob) -> bool:
    """Only one that is due and stays so: nobody waits for a moment, nor behind what nobody may start any more."""
    stays_due = job.is_due_at_once and job.expires_at is None
    return stays_due and job.gate == Gate.KEY and job.policy == Policy.SINGLETON and job.key is not None


def _follows(job: NewJob, first: dict[tuple[str, ...], NewJob]) -> bool:
    return _may_stand_in_line(job) and first[_line(job)] is not job


def _line(job: NewJob) -> tuple[str, ...]:
    """A type that nobody serves, or that is paused, must not stand in front of another; nor must a paused subject."""
    return job.queue, job.key or "", job.job_type, job.subject


def _urgency(job: NewJob) -> tuple[int, int]:
    return -job.priority, job.id.int
