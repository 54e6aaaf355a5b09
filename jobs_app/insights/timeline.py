"""What happened to a run, in order: as a story of moments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app import durations
from jobs_app.insights.run_facts import RunFacts
from jobs_app.models import JobAttempt, State


class Moment(NamedTuple):
    at: datetime
    kind: str  # a state, or ok, warn, bad, idle, info
    text: str


WHY_ENDED = {
    "cancelled": gettext_lazy("somebody cancelled it, or its handler did"),
    "exhausted": gettext_lazy("its attempts are used up"),
    "expired": gettext_lazy("nobody started it in time"),
    "interrupted": gettext_lazy("it was interrupted, and may not be tried again"),
    "lost": gettext_lazy("it lost its worker, and may not be tried again"),
    "marked_failed": gettext_lazy("somebody marked it as failed"),
    "no_more_results": gettext_lazy("there are no more results for it"),
    "permanent": gettext_lazy("its error is not to be retried"),
    "quarantined": gettext_lazy("it took its worker with it time and again"),
    "stuck": gettext_lazy("it made no progress"),
    "superseded": gettext_lazy("a newer one took its place"),
    "target_reached": gettext_lazy("it has all the results it was asked for"),
    "timeout": gettext_lazy("it took longer than it may"),
    "worker_done": gettext_lazy("its work is done"),
}
BADGES = {"success": "ok", "error": "bad", "timeout": "bad", "lost": "bad", "crashed": "bad"}


def timeline(facts: RunFacts) -> list[Moment]:
    """Oldest first; of its attempts those of the page that was read."""
    return sorted(_moments(facts), key=lambda moment: moment.at)


def badge_of(outcome: str) -> str:
    """The kind of badge that an attempt's outcome has; one that was not its own fault is idle."""
    return BADGES.get(outcome, "idle")


def why_ended(reason: str) -> str:
    """In words; a host's own reason as it is."""
    return str(WHY_ENDED.get(reason, reason))


def seconds_of(attempt: JobAttempt) -> float | None:
    return (attempt.finished_at - attempt.started_at).total_seconds() if attempt.started_at else None


def _moments(facts: RunFacts) -> Iterator[Moment]:
    run = facts.run
    yield Moment(run.queued_at, "queued", _by(_("queued"), run.actor))
    if run.run_at > run.queued_at and not run.attempts:
        yield Moment(run.run_at, "scheduled", _("due"))
    for attempt in facts.attempts.attempts:
        yield from _of_attempt(attempt)
    if run.state == State.RUNNING and run.started_at:
        told_as = {"number": run.attempts, "worker": run.worker_id}
        yield Moment(run.started_at, "running", _("attempt %(number)s started on %(worker)s") % told_as)
    if run.state == State.QUEUED and run.attempts:
        yield Moment(run.run_at, "retrying", _("due again"))
    for event in facts.events:
        yield Moment(event.at, "info", _by(event.action, event.actor))
    if run.finished_at:
        reason = f": {why_ended(run.done_reason)}" if run.done_reason else ""
        yield Moment(run.finished_at, run.state, f"{run.get_state_display()}{reason}")


def _of_attempt(attempt: JobAttempt) -> Iterator[Moment]:
    if attempt.started_at:
        told_as = {"number": attempt.number, "worker": attempt.worker_id}
        yield Moment(attempt.started_at, "info", _("attempt %(number)s started on %(worker)s") % told_as)
    seconds = seconds_of(attempt)
    told_as = {"number": attempt.number, "outcome": attempt.get_outcome_display(), "error": attempt.error_class}
    text = _("attempt %(number)s: %(outcome)s") % told_as
    text += f" ({attempt.error_class})" if attempt.error_class else ""
    text += "" if seconds is None else ", " + durations.rough(seconds)
    yield Moment(attempt.finished_at, badge_of(attempt.outcome), text)


def _by(what: str, actor: str) -> str:
    return _("%(what)s by %(actor)s") % {"what": what, "actor": actor} if actor else what
