"""Queues: how they do, one of them in full, and their limits."""

from __future__ import annotations

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin import queue_limits
from jobs_app.admin.acts import act
from jobs_app.admin.pages import Page
from jobs_app.admin.pausing import pause_pages
from jobs_app.admin.queue_limits import LimitForm
from jobs_app.admin.queue_words import BADGES
from jobs_app.admin.visits import Visit
from jobs_app.conf import get_settings
from jobs_app.insights import queues
from jobs_app.lifecycle import control
from jobs_app.lifecycle.rules import read_rules
from jobs_app.limits import NO_RULES
from jobs_app.models import Policy, Scope
from jobs_app.registry import SYSTEM_QUEUE


def _listing(visit: Visit) -> HttpResponseBase:
    found = visit.read(lambda: queues.listing(visit.connection))
    return visit.render(
        "queues.html",
        _("Queues"),
        live=5,
        queues=[(line, *BADGES[line.state]) for line in found.lines] if found else [],
        is_read=found is not None,
        is_capped=found is not None and found.is_capped,
    )


def _detail(visit: Visit, name: str) -> HttpResponseBase:
    found = visit.read(lambda: queues.listing(visit.connection, own=name == SYSTEM_QUEUE))
    line = next((each for each in found.lines if each.name == name), None) if found else None
    if found is not None and line is None:
        raise Http404(f"there is no queue {name!r}: it is made by the first job that is enqueued in it")
    backlog = visit.read(lambda: queues.backlog(visit.connection, name), seconds=2)
    return visit.render(
        "queue.html",
        _("Queue %(name)s") % {"name": name},
        live=5,
        crumbs=[(visit.url("queuestate_changelist"), _("Queues"))],
        name=name,
        line=line,
        badge=BADGES[line.state] if line else None,
        is_capped=found is not None and found.is_capped,
        is_own=name == SYSTEM_QUEUE,
        limits=queue_limits.table(line.rules, line.declared) if line else [],
        policy=Policy(line.rules.policy).label if line else "",
        backlog=backlog,
    )


def _limit(visit: Visit, name: str) -> HttpResponseBase:
    declared = get_settings().queues.get(name, NO_RULES)
    return act(
        visit,
        title=_("Limits of queue %(name)s") % {"name": name},
        form=LimitForm,
        form_arguments={"rules": read_rules(visit.connection).of_queue(name), "declared": declared},
        perform=lambda form: control.limit_queue(name, visit.user, form.reason_given, **form.changes),
        back=visit.url("queuestate_detail", name),
        done=_("queue changed"),
        target=name,
    )


def _unlimit(visit: Visit, name: str) -> HttpResponseBase:
    declared = get_settings().queues.get(name, NO_RULES)
    told = queue_limits.table(read_rules(visit.connection).of_queue(name), declared)
    return act(
        visit,
        title=_("Limits of queue %(name)s as in settings") % {"name": name},
        perform=lambda form: control.unlimit_queue(name, visit.user, form.reason_given),
        back=visit.url("queuestate_detail", name),
        done=_("queue changed"),
        target=name,
        facts=[(each["label"], f"{each['value']} → {each['declared']}") for each in told if each["differs"]],
    )


PAGES = [
    Page("", "queuestate_changelist", _listing),
    *pause_pages(Scope.QUEUE, "queuestate"),
    Page(
        "<path:name>/limits/",
        "queuestate_limit",
        _limit,
        act="scale_queue",
        label=gettext_lazy("Change limits"),
        help=gettext_lazy("They hold for what is enqueued from now on, and for what is claimed."),
    ),
    Page(
        "<path:name>/as-in-settings/",
        "queuestate_unlimit",
        _unlimit,
        act="scale_queue",
        label=gettext_lazy("As in settings"),
        help=gettext_lazy("What operators have set is forgotten, and the settings speak again."),
    ),
    Page("<path:name>/", "queuestate_detail", _detail),
]
