"""What somebody decided: a pause, a later moment, a maintenance window."""

from __future__ import annotations

from django.utils.translation import gettext as _

from jobs_app.insights import pauses
from jobs_app.insights.waiting.reasons import Case, Reason, Target, TargetKind, told
from jobs_app.models import Hold, JobAttempt, Outcome, Pause, Scope

TARGETS: dict[Scope, TargetKind] = {
    Scope.ALL: "everything",
    Scope.QUEUE: "queue",
    Scope.JOB_TYPE: "job_type",
    Scope.SUBJECT: "subject",
}


def pause_reasons(case: Case) -> list[Reason]:
    """Those that it will meet when it is due; one without an end before the others."""
    due = max(case.run.run_at, case.now)
    holding = [
        each for each in pauses.holding(case.connection, case.run, case.now) if not each.until or each.until > due
    ]
    holding.sort(key=lambda pause: pause.until is not None)
    if holding:
        return [_paused(pause) for pause in holding]
    return [_reopening(case)] if case.run.hold == Hold.PAUSE else []


def later_reasons(case: Case) -> list[Reason]:
    """What is due later says when, and who wanted that."""
    until = case.run.run_at
    if until <= case.now or case.deferral:
        return []
    outcome = _last_outcome(case)
    if case.run.hold == Hold.LIMIT:  # it was due, and got a later date from the rate of its key
        kind, sentence = "rate", _("the rate of its key lets it start at %(moment)s")
    elif outcome is None:
        kind, sentence = "scheduled", _("it is scheduled for %(moment)s")
    elif outcome == Outcome.SNOOZED:
        kind, sentence = "snoozed", _("its handler asked to come back at %(moment)s")
    elif outcome == Outcome.DEFERRED:
        kind, sentence = "window", _("a maintenance window put it off until %(moment)s")
    else:
        kind, sentence = "backoff", _("attempt %(number)s failed: it is tried again at %(moment)s")
    told_as = {"moment": told(until), "number": case.run.attempts}
    return [Reason(kind=kind, sentence=sentence % told_as, until=until)]


def window_reasons(case: Case) -> list[Reason]:
    found = case.deferral
    if found is None:
        return []
    told_as = {"window": found.window.name, "moment": told(found.until)}
    sentence = _("the maintenance window %(window)s lets nothing of it start until %(moment)s") % told_as
    return [Reason(kind="window", sentence=sentence, target=Target("windows", found.window.name), until=found.until)]


def _last_outcome(case: Case) -> str | None:
    """None: never tried, or not that anybody knows of."""
    if not case.run.attempts:
        return None
    tries = JobAttempt.objects.using(case.connection.alias).filter(job_id=case.run.pk)
    return tries.order_by("-number").values_list("outcome", flat=True).first()


def _paused(pause: Pause) -> Reason:
    what = {
        Scope.ALL: _("everything is paused"),
        Scope.QUEUE: _("its queue %(name)s is paused"),
        Scope.JOB_TYPE: _("its job type %(name)s is paused"),
        Scope.SUBJECT: _("its subject %(name)s is paused"),
    }[Scope(pause.scope)] % {"name": pause.name}
    return Reason(
        kind="paused",
        sentence=_with_whom(what, pause),
        target=Target(TARGETS[Scope(pause.scope)], pause.name),
        until=pause.until,
    )


def _with_whom(what: str, pause: Pause) -> str:
    """Whatever is known of it: who, until when, why."""
    if pause.actor and pause.until:
        told_as = _("%(what)s by %(actor)s until %(moment)s")
    elif pause.actor:
        told_as = _("%(what)s by %(actor)s")
    else:
        told_as = _("%(what)s until %(moment)s") if pause.until else "%(what)s"
    sentence = told_as % {"what": what, "actor": pause.actor, "moment": pause.until and told(pause.until)}
    return f"{sentence}: {pause.reason}" if pause.reason else sentence


def _reopening(case: Case) -> Reason:
    return Reason(kind="reopening", sentence=_("its pause has ended: workers are about to let it go on"))
