"""Runs that stand still: what is wrong with each, and what is to become of it. Reads only.

Age alone is never a reason: a long run that goes on is healthy, and so is a long backlog that somebody works off.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import RECONCILABLE, get_settings
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.overdue import overdue_seconds
from jobs_app.lifecycle.recover import lost_text
from jobs_app.lifecycle.unserved import find_unserved
from jobs_app.lifecycle.workforce import Workforce, read_workforce
from jobs_app.models import Job, State
from jobs_app.registry import SYSTEM_QUEUE, registry

EXPIRED, LOST, STUCK = RECONCILABLE
UNSERVED = "unserved"
KINDS = (*RECONCILABLE, UNSERVED)
REQUEUE, FAIL, CANCEL, KEEP = "requeue", "fail", "cancel", "keep"

MOST_RUNNING = 10_000  # rows looked at, those whose lease ends first: what nobody renews is always among them
LOOKS_MISSED = 3  # after which a lease that ended is one that nobody recovers


class Stale(NamedTuple):
    """One run that stands still."""

    job: Job
    kind: str
    verdict: str
    reason: str
    since: datetime


def find_stale(connection: BaseDatabaseWrapper, kinds: Collection[str] = KINDS) -> list[Stale]:
    """What stands still now, longest first. It costs what runs, and a few rows of each lane.

    What runs is read before the workers: who claimed it has announced itself before.
    """
    now = database_now(connection)
    running = Job.objects.using(connection.alias).filter(state=State.RUNNING).defer("payload", "meta")
    jobs = list(running.order_by("lease_expires_at")[:MOST_RUNNING])
    workforce = read_workforce(connection, now)
    found = [stale for job in jobs if (stale := judge(job, workforce, now))]
    if UNSERVED in kinds:
        found += [Stale(job, UNSERVED, KEEP, why, job.run_at) for job, why in find_unserved(connection, workforce, now)]
    return sorted((stale for stale in found if stale.kind in kinds), key=lambda stale: stale.since)


def judge(job: Job, workforce: Workforce, now: datetime) -> Stale | None:
    """What is wrong with a job that runs: first what is beyond doubt. Of the app's own chores only the lease counts."""
    if job.state != State.RUNNING or job.lease_expires_at is None or job.started_at is None:
        return None
    if job.lease_expires_at + _patience() < now:
        told = f"Job stuck in running for {_minutes(now - job.started_at)} - lease: expired (was on {job.worker_id})"
        return Stale(job, EXPIRED, _if_lost(job), told, job.lease_expires_at)
    if job.queue == SYSTEM_QUEUE:
        return None
    if job.worker_id not in workforce.alive:
        return Stale(job, LOST, _if_lost(job), lost_text(job.worker_id), job.started_at)
    return _stuck(job, job.started_at, now)


def _patience() -> timedelta:
    """How long workers may take to recover what expired. Nothing is waited for where they do not."""
    settings = get_settings()
    return timedelta(seconds=LOOKS_MISSED * settings.recover_seconds if settings.auto_recover else 0)


def _if_lost(job: Job) -> str:
    if job.cancel_requested:
        return CANCEL
    return REQUEUE if job.attempts - job.free_attempts < job.max_attempts else FAIL


def _stuck(job: Job, started_at: datetime, now: datetime) -> Stale | None:
    """It would run a second time beside itself if it waited again: it can only be failed."""
    told = f"Job stuck in running for {_minutes(now - started_at)}"
    late = overdue_seconds(job, now)
    if late is not None:
        since = now - timedelta(seconds=late)
        return Stale(job, STUCK, FAIL, f"{told} - past its timeout for {_minutes(now - since)}", since)
    moved_at = max(started_at, job.last_progress_at or started_at)
    threshold = _stale_after(job.job_type)
    if threshold is None or now - moved_at <= timedelta(seconds=threshold):
        return None
    return Stale(job, STUCK, FAIL, f"{told} - no progress for {_minutes(now - moved_at)}", moved_at)


def _stale_after(job_type: str) -> float | None:
    known = registry.find(job_type)
    return known.preset.stale_after if known and known.preset else None


def _minutes(length: timedelta) -> str:
    return f"{length // timedelta(minutes=1)}min"
