"""The reasons together. What stops it for certain comes first; what only delays it is told where nothing stops it."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.conf import get_settings
from jobs_app.insights.waiting.gates import key_reasons, limit_reasons, rate_reasons
from jobs_app.insights.waiting.line import line_reasons
from jobs_app.insights.waiting.reasons import Case, Reason, told
from jobs_app.insights.waiting.stops import later_reasons, pause_reasons, window_reasons
from jobs_app.insights.waiting.workers import slot_reasons, unserved_reasons
from jobs_app.lifecycle.database import pinned_reading
from jobs_app.models import Run, State

SOON = timedelta(hours=1)


def waiting_because(connection: BaseDatabaseWrapper, run: Run, now: datetime) -> list[Reason]:
    """Why it waits, at least one reason for every queued run; none for one that runs or has ended.

    `run` is one of `insights.runs.readable`, `now` its `read_at`. It costs a few steps into indexes, whatever waits:
    pinned, since a table without fresh statistics would be read as a whole.
    """
    if run.state != State.QUEUED:
        return []
    with pinned_reading(connection):
        return _reasons(Case(connection, run, now))


def _reasons(case: Case) -> list[Reason]:
    if _is_expired(case):
        return [_expired(case)]
    found = [*pause_reasons(case), *later_reasons(case), *window_reasons(case), *unserved_reasons(case)]
    if not found:  # who cannot start anyway, or not yet, does not wait for whoever is in front of it at this moment
        gates = [*key_reasons(case), *limit_reasons(case), *rate_reasons(case)]
        found = [*(gates or slot_reasons(case)), *line_reasons(case)]
    return [*(found or [_due(case)]), *_expiring(case)]


def _due(case: Case) -> Reason:
    seconds = max(1, math.ceil(get_settings().worker_poll_seconds))
    sentence = ngettext(
        "it is due now: a worker takes it within %(seconds)d second",
        "it is due now: a worker takes it within %(seconds)d seconds",
        seconds,
    )
    return Reason(kind="due", sentence=sentence % {"seconds": seconds})


def _is_expired(case: Case) -> bool:
    return case.run.expires_at is not None and case.run.expires_at <= case.now


def _expired(case: Case) -> Reason:
    assert case.run.expires_at is not None
    sentence = _("it was not started by %(moment)s: it expired, and ends as failed when a worker next looks")
    return Reason(kind="expired", sentence=sentence % {"moment": told(case.run.expires_at)})


def _expiring(case: Case) -> list[Reason]:
    """No reason to wait, but one to hurry."""
    expires_at = case.run.expires_at
    if expires_at is None or expires_at - case.now > SOON:
        return []
    sentence = _("if it does not start by %(moment)s it expires, and ends as failed") % {"moment": told(expires_at)}
    return [Reason(kind="expires", sentence=sentence, until=expires_at)]
