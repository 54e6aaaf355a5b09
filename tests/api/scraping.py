"""A scraper's jobs as tests look at them: live, ended, and seconds later."""

from __future__ import annotations

from datetime import datetime

from jobs_app.models import Job, JobRun
from jobs_app.remote.desks import desks
from jobs_app.remote.rounds import rounds


def stored(run_id: str) -> Job:
    return Job.objects.get(pk=run_id)


def ended(run_id: str) -> JobRun:
    return JobRun.objects.get(pk=run_id)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def lost_time() -> None:
    """As seconds later: what a process remembers for a second or two is asked anew."""
    desks.clear()
    rounds.forget()
