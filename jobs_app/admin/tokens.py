"""API tokens: which there are, and the pages on which they are made, told once, and revoked."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import act, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.token_form import TokenForm
from jobs_app.admin.visits import Visit
from jobs_app.insights import tokens
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now
from jobs_app.models import ApiToken
from jobs_app.text import visible

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

BACK = "apitoken_changelist"
STATUSES: dict[str, tuple[str, StrOrPromise]] = {
    tokens.IN_FORCE: ("ok", gettext_lazy("in force")),
    tokens.EXPIRED: ("warn", gettext_lazy("expired")),
    tokens.REVOKED: ("idle", gettext_lazy("revoked")),
}


class TokenLine(NamedTuple):
    """A token, in words."""

    row: ApiToken
    badge: tuple[str, StrOrPromise]
    ends_at: datetime | None  # while it is in force
    scopes: str
    queues: str  # empty: all
    job_types: str  # likewise


def _listing(visit: Visit) -> HttpResponseBase:
    found = visit.read(lambda: tokens.all_tokens(visit.connection))
    return visit.render(
        "tokens.html",
        _("API tokens"),
        lines=[_line(row, status) for row, status in found.tokens] if found else [],
        is_capped=found is not None and found.is_capped,
        most_shown=tokens.MOST_SHOWN,
        sees_events=visit.may("view_controlevent"),
        live=30,
    )


def _add(visit: Visit) -> HttpResponseBase:
    title = _("Make an API token")

    def perform(form: TokenForm) -> HttpResponseBase:
        options = form.options(database_now(visit.connection))
        created = control.create_token(form.cleaned_data["name"], visit.user, form.reason_given, **options)
        write_log_entry(visit, created, title)
        return _made(visit, created)

    return act(visit, title=title, form=TokenForm, perform=perform, back=visit.url(BACK), done=_("token made"))


def _made(visit: Visit, created: control.Created) -> HttpResponseBase:
    """The one answer that has the token. No address leads here, and nothing on the way may keep it."""
    line = _line(created.token, tokens.IN_FORCE)
    answer = visit.render("token_made.html", _("The new API token"), text=created.text, line=line, back=visit.url(BACK))
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _revoke(visit: Visit, pk: int) -> HttpResponseBase:
    row = ApiToken.objects.using(visit.connection.alias).filter(pk=pk).first()
    if row is None:
        raise Http404(_("There is no such API token."))
    return act(
        visit,
        title=_("Revoke API token %(name)s") % {"name": visible(row.name)},
        perform=lambda form: control.revoke_token(pk, visit.user, form.reason_given),
        back=visit.url(BACK),
        done=_("token revoked"),
        target=row.prefix,
        template="token_revoke.html",
        line=_line(row, tokens.status_of(row, now=database_now(visit.connection))),
    )


def _line(row: ApiToken, status: str) -> TokenLine:
    scopes, queues, job_types = (
        visible(", ".join(tokens.listed(names))) for names in (row.scopes, row.queues, row.job_types)
    )
    ends_at = row.expires_at if status == tokens.IN_FORCE else None
    return TokenLine(row, STATUSES[status], ends_at, scopes, queues, job_types)


PAGES = [
    Page("", BACK, _listing, permission=("view_dashboard", "manage_token")),
    Page(
        "add/",
        "apitoken_add",
        _add,
        act="manage_token",
        label=gettext_lazy("Make a token"),
        help=gettext_lazy("With it a program may speak over HTTP. It is shown once, on the page that answers."),
    ),
    Page(
        "<int:pk>/revoke/",
        "apitoken_revoke",
        _revoke,
        act="manage_token",
        label=gettext_lazy("Revoke"),
        help=gettext_lazy("The next request with it is refused. This cannot be undone: another one has to be made."),
    ),
]
