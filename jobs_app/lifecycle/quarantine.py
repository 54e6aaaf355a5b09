"""A job that crashed its process again and again is given no more of them, whatever attempts it has left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.moves import Ended
from jobs_app.models import JobAttempt

MOST_CRASHES = 3


def quarantine(connection: BaseDatabaseWrapper, ended: Iterable[Ended]) -> None:
    """Turn those that crashed for the third time into failures, in place, before they are stored."""
    crashed = [one for one in ended if one.outcome == "crashed" and one.state in ("queued", "failed")]
    if not crashed:
        return
    before = _earlier_crashes(connection, crashed)
    for one in crashed:
        if before[one.id] + 1 >= MOST_CRASHES:
            one.state, one.done_reason, one.delay = "failed", "quarantined", 0.0


def _earlier_crashes(connection: BaseDatabaseWrapper, crashed: Iterable[Ended]) -> Counter[UUID]:
    """By job; without this one, which is among them when its commit was cut off and it is stored again."""
    tokens = {one.id: one.token for one in crashed}
    tried = JobAttempt.objects.using(connection.alias).filter(job_id__in=list(tokens), outcome="crashed")
    rows = tried.values_list("job_id", "token")
    return Counter(job_id for job_id, token in rows if token != tokens[job_id])
