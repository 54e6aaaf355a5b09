"""What the app's pages are written with: buttons of acts, states, times, numbers, links and charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import VERSION, template
from django.template.context import Context
from django.urls import reverse
from django.utils import formats, timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs_app import durations, text
from jobs_app.admin import charts, documents
from jobs_app.admin.menu import PAGES

register = template.Library()

NOTHING = "-"
SIGNS = {
    "queued": "○",
    "scheduled": "◷",
    "retrying": "↻",
    "running": "▶",
    "succeeded": "✓",
    "failed": "✗",
    "cancelled": "⊘",
    "ok": "✓",
    "warn": "!",
    "bad": "✗",
    "idle": "○",
    "info": "·",
}
KINDS = {"succeeded": "ok", "failed": "bad", "running": "info", "retrying": "warn", "queued": "idle"}
KINDS |= {"scheduled": "idle", "cancelled": "idle"}
NAVIGATION = (
    ("dashboard_changelist", "d"),
    ("jobdefinition_changelist", "t"),
    ("queuestate_changelist", "q"),
    ("schedulestate_changelist", "s"),
    ("subject_changelist", "u"),
    ("run_changelist", "r"),
    ("dashboard_stale", "l"),
    ("workerstate_changelist", "w"),
    ("dashboard_capacity", "c"),
    ("controlevent_changelist", "e"),
    ("maintenancewindow_changelist", "m"),
    ("runtimesetting_changelist", "p"),
    ("apitoken_changelist", "a"),
)


@register.simple_tag(takes_context=True)
def act(context: Context, name: str, *arguments: object, label: str = "", **query: object) -> SafeString | str:
    """The button of a page that acts, for who may; it leads back to where it was pressed."""
    page = PAGES.get(name)
    request = context["request"]
    if page is None or not page.may(request.user):
        return ""
    address = page_url(context, name, *arguments)
    asked = urlencode({**query, "next": request.get_full_path()}, doseq=True)
    return format_html(
        '<a class="jobs-button" href="{}?{}" title="{}">{}</a>', address, asked, page.help, label or page.label
    )


@register.simple_tag(takes_context=True)
def page_url(context: Context, name: str, *arguments: object, **query: object) -> str:
    current_app = getattr(context["request"], "current_app", None)
    address = reverse(f"admin:jobs_app_{name}", args=arguments, current_app=current_app)
    return f"{address}?{urlencode(query, doseq=True)}" if query else address


@register.simple_tag(takes_context=True)
def runs_url(context: Context, **filters: object) -> str:
    """The list of the runs that a filter is about."""
    return page_url(
        context, "run_changelist", **{name: value for name, value in filters.items() if value not in ("", None)}
    )


@register.simple_tag(takes_context=True)
def navigation(context: Context) -> list[dict[str, Any]]:
    """The pages that have a place in the bar, for who may see them."""
    request = context["request"]
    here = context["visit"].page.name
    texts = _navigation_texts()
    return [
        {"url": page_url(context, name), "text": texts[name], "key": key, "current": _current(name, here)}
        for name, key in NAVIGATION
        if name in PAGES and PAGES[name].may(request.user)
    ]


def _current(name: str, here: str) -> str:
    """For readers of screens too: the page itself, or one of those behind it."""
    if name == here:
        return "page"
    is_behind = name == f"{here.partition('_')[0]}_changelist" and here not in dict(NAVIGATION)
    return "true" if is_behind else ""


@register.simple_tag(takes_context=True)
def breadcrumbs(context: Context) -> SafeString:
    """As the site's own are built: a list since Django 6.1, before it a line."""
    current_app = getattr(context["request"], "current_app", None)
    links = [(reverse("admin:index", current_app=current_app), _("Home"))]
    links.append((reverse("admin:app_list", args=("jobs_app",), current_app=current_app), _("Jobs")))
    links += context.get("crumbs") or []
    if VERSION < (6, 1):
        drawn = format_html_join("", '<a href="{}">{}</a> &rsaquo; ', links)
        return format_html('<div class="breadcrumbs">{}{}</div>', drawn, context["title"])
    drawn = format_html_join("", '<li><a href="{}">{}</a></li>', links)
    return format_html('<ol class="breadcrumbs">{}<li aria-current="page">{}</li></ol>', drawn, context["title"])


@register.simple_tag
def badge(status: str, text: str = "") -> SafeString:
    """A state as a word, a sign and a colour, so that none of the three is needed alone."""
    kind = KINDS.get(status, status)
    return format_html(
        '<span class="jobs-badge jobs-badge-{}"><span aria-hidden="true">{}</span> {}</span>',
        kind,
        SIGNS.get(status, "·"),
        text or _status_text(status),
    )


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """How long ago or ahead, with the exact time in the reader's zone; a script keeps the first one true."""
    if moment is None:
        return NOTHING
    return format_html(
        '<time datetime="{}" title="{}" data-jobs-when data-ago="{}" data-ahead="{}">{}</time>',
        moment.isoformat(),
        exact(moment),
        _("%(time)s ago") % {"time": "{}"},
        _("in %(time)s") % {"time": "{}"},
        _relative((timezone.now() - moment).total_seconds()),
    )


@register.filter
def exact(moment: datetime | None) -> str:
    """The date and time, to the second, in the reader's zone and language."""
    if moment is None:
        return NOTHING
    local = timezone.localtime(moment)
    return f"{formats.date_format(local, 'SHORT_DATE_FORMAT')} {local:%H:%M:%S} {local.tzname()}"


@register.filter
def rough(seconds: float | None) -> str:
    return NOTHING if seconds is None else durations.rough(seconds)


@register.filter
def counted(number: int | None, is_capped: bool = False) -> str:
    """A number; 10,000+ where counting stopped there."""
    if number is None:
        return NOTHING
    return formats.number_format(number, force_grouping=True) + ("+" if is_capped else "")


@register.filter
def pretty(value: Any) -> str:
    """JSON as people read it. Large numbers stay exact, since no script touches them."""
    return documents.pretty(value)


@register.filter
def visible(value: object) -> str:
    """Any stored text, whatever is in it: a page must be sendable, and its lines in the order they were written."""
    return text.visible(value)


@register.simple_tag
def sparkline(values: Sequence[float], label: str = "") -> SafeString:
    return charts.sparkline(values, label=label)


@register.simple_tag
def bars(pairs: Sequence[tuple[object, float]], label: str = "", kind: str = "info") -> SafeString:
    return charts.bars(pairs, label=label, kind=kind)


@register.simple_tag
def stacked(columns: Sequence[tuple[object, Sequence[tuple[str, float]]]], label: str = "") -> SafeString:
    return charts.stacked(columns, label=label)


@register.simple_tag
def meter(used: float, total: float, label: str = "") -> SafeString:
    return charts.meter(used, total, label=label)


def _relative(seconds: float) -> str:
    if abs(seconds) < 1:
        return _("now")
    time = " ".join(durations.exact(round(abs(seconds))).split()[:2])  # whole seconds, as the script tells them later
    return _("%(time)s ago") % {"time": time} if seconds > 0 else _("in %(time)s") % {"time": time}


def _status_text(status: str) -> str:
    return {
        "queued": _("queued"),
        "scheduled": _("scheduled"),
        "retrying": _("retrying"),
        "running": _("running"),
        "succeeded": _("succeeded"),
        "failed": _("failed"),
        "cancelled": _("cancelled"),
    }.get(status, status)


def _navigation_texts() -> dict[str, str]:
    return {
        "dashboard_changelist": pgettext("page", "Dashboard"),
        "jobdefinition_changelist": pgettext("page", "Job types"),
        "queuestate_changelist": pgettext("page", "Queues"),
        "schedulestate_changelist": pgettext("page", "Schedules"),
        "subject_changelist": pgettext("page", "Subjects"),
        "run_changelist": pgettext("page", "Runs"),
        "dashboard_stale": pgettext("page", "Stale"),
        "workerstate_changelist": pgettext("page", "Workers"),
        "dashboard_capacity": pgettext("page", "Capacity"),
        "controlevent_changelist": pgettext("page", "Events"),
        "maintenancewindow_changelist": pgettext("page", "Windows"),
        "runtimesetting_changelist": pgettext("page", "Settings"),
        "apitoken_changelist": pgettext("page", "Tokens"),
    }
