"""One run: where it is and why, every attempt, what it was given and what it gave, and what can be done with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs_app.admin.documents import Excerpt, download, head, pretty, tail
from jobs_app.admin.pages import Page
from jobs_app.admin.run_acts import offered
from jobs_app.admin.run_gone import gone, of_a_run
from jobs_app.admin.run_links import link, link_to, links_of
from jobs_app.admin.visits import Visit
from jobs_app.admin.workers import STATUSES
from jobs_app.insights import attempts, items, run_facts, runs
from jobs_app.insights.run_facts import MOST_ITEMS, RunFacts
from jobs_app.insights.timeline import badge_of, seconds_of, timeline, why_ended
from jobs_app.models import JobAttempt
from jobs_app.redaction import redact
from jobs_app.text import visible

REFRESH_SECONDS = 5
ITEMS_SHOWN = 20
ITEM_CHARACTERS = 2000  # of each item


def _detail(visit: Visit, pk: UUID) -> HttpResponseBase:
    facts = visit.read(
        lambda: run_facts.read(visit.connection, pk, before=_before(visit), with_logs=visit.may("view_log"))
    )
    title = pgettext("of a job", "Run")
    if facts is not None:
        title = _("Run of %(job_type)s") % {"job_type": visible(facts.run.job_type)}
    return visit.render(
        "run_detail.html",
        title,
        live=None if facts and facts.is_finished else REFRESH_SECONDS,
        crumbs=[(link(visit, "run_changelist"), _("Runs"))],
        facts=facts,
        sees_log=visit.may("view_log"),
        sees_events=visit.may("view_controlevent"),
        **({} if facts is None else _shown(visit, facts)),
    )


def _shown(visit: Visit, facts: RunFacts) -> dict[str, Any]:
    return {
        "run": facts.run,
        "links": links_of(visit, facts),
        "reasons": [(reason, link_to(visit, reason.target)) for reason in facts.reasons],
        "acts": offered(visit, facts),
        "worker_badge": STATUSES.get(facts.worker_status, ("bad", _("gone"))),
        "why_ended": why_ended(facts.run.done_reason),
        "moments": timeline(facts),
        "attempts": [_attempt(visit, each) for each in facts.attempts.attempts],
        "documents": _documents(facts) if visit.may("view_payload") else None,
        "children": [_child(each, facts) for each in facts.children],
        "item_count": min(facts.items, MOST_ITEMS),
        "is_capped": facts.items > MOST_ITEMS,
        **_items(visit, facts),
    }


def _before(visit: Visit) -> int | None:
    given = visit.request.GET.get("before", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _attempt(visit: Visit, attempt: JobAttempt) -> dict[str, Any]:
    """Its texts are read only for who may see them."""
    told: dict[str, Any] = {"row": attempt, "badge": badge_of(attempt.outcome), "seconds": seconds_of(attempt)}
    if visit.may("view_log"):
        told |= {"traceback": tail(attempt.traceback), "log": tail(attempt.log_excerpt)}
    return told


def _documents(facts: RunFacts) -> list[tuple[str, Excerpt]]:
    """What is JSON, with secrets hidden; what a run does not have is left out."""
    run = facts.run
    wanted = [(_("Payload"), run.payload), (_("Result"), run.result), (_("Meta"), run.meta)]
    return [(name, head(pretty(redact(value)))) for name, value in wanted if value not in (None, {})]


def _items(visit: Visit, facts: RunFacts) -> dict[str, Any]:
    """Some of what remote workers reported, with secrets hidden, for who may see what a run gave."""
    if not facts.items or not visit.may("view_payload"):
        return {}
    after = visit.request.GET.get("after", "")
    found = visit.read(lambda: items.page(visit.connection, facts.run.pk, after=after, limit=ITEMS_SHOWN))
    if found is None:
        return {}
    shown = [(item, head(pretty(redact(item.data)), limit=ITEM_CHARACTERS)) for item in found.items]
    return {"items": shown, "items_after": found.after}


def _child(run: Any, facts: RunFacts) -> dict[str, Any]:
    status = runs.status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=facts.now)
    return {"run": run, "status": status, "label": runs.label_of(run.job_type, status)}


def _change(visit: Visit, pk: UUID) -> HttpResponseBase:
    """Where Django would have it: other pages of a site lead there."""
    return HttpResponseRedirect(visit.url("run_detail", pk))


def _payload(visit: Visit, pk: UUID) -> HttpResponseBase:
    run = runs.get(pk)
    document = {"payload": redact(run.payload), "meta": redact(run.meta), "result": redact(run.result)}
    return download(pretty(document), kind="application/json", name=f"run-{pk}.json")


def _log(visit: Visit, pk: UUID, number: int) -> HttpResponseBase:
    attempt = attempts.get(visit.connection, pk, number)
    if attempt is None:
        return gone(visit, pk)
    parts = [part.rstrip("\n") for part in (attempt.log_excerpt, attempt.traceback) if part]
    return download(visible("\n\n".join(parts)) + "\n", kind="text/plain", name=f"run-{pk}-{number}.log")


PAGES = [
    Page("<uuid:pk>/change/", "run_change", _change),
    Page("<uuid:pk>/payload/", "run_payload", of_a_run(_payload), permission=("view_dashboard", "view_payload")),
    Page("<uuid:pk>/log/<int:number>/", "run_log", of_a_run(_log), permission=("view_dashboard", "view_log")),
    Page("<uuid:pk>/", "run_detail", of_a_run(_detail)),
]
