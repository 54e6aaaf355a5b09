"""The pages of API tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from jobs_app import job
from jobs_app.admin import token_form
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.tokens import find_token
from jobs_app.models import ApiToken, ControlEvent
from jobs_app.tokens import SCOPES
from tests.admin.conftest import Visitor
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db

Url = Callable[..., str]
GIVEN = {"name": "crawler", "scopes": ["pull", "report"], "expires": ""}
TOKEN = re.compile(r'value="(jobs_[a-z0-9]{8}_[A-Za-z0-9]{43})"')


@pytest.fixture(autouse=True)
def types() -> None:
    job(name="crawl")(lambda: None)
    job(name="refund", permission="auth.change_group")(lambda: None)


def post(client: Any, url: Url, **data: Any) -> Any:
    return client.post(url("apitoken_add"), {**GIVEN, **data})


def test_a_token_is_made_and_shown_on_the_answer(visitor: Visitor, page_url: Url) -> None:
    with frozen_clock(T):
        answer = post(
            visitor("manage_token"),
            page_url,
            queues="mail, crawl.*",
            job_types="crawl",
            expires="90d",
            reason="they asked",
        )
        [text] = TOKEN.findall(answer.content.decode())
        row = find_token(connection, text)
    assert answer.status_code == 200
    assert row is not None
    assert (row.name, row.scopes, row.queues, row.job_types) == (
        "crawler",
        ["pull", "report"],
        ["mail", "crawl.*"],
        ["crawl"],
    )
    assert row.expires_at == T + timedelta(days=90)
    event = ControlEvent.objects.get()
    assert (event.action, event.target, event.reason, event.actor) == (
        "create",
        row.prefix,
        "they asked",
        row.created_by,
    )


def test_every_scope_can_be_chosen() -> None:
    assert tuple(name for name, _ in token_form.SCOPES) == SCOPES


def test_it_is_on_that_answer_and_nowhere_else(visitor: Visitor, page_url: Url) -> None:
    client = visitor(everything=True)
    answer = post(client, page_url)
    [text] = TOKEN.findall(answer.content.decode())
    assert "no-store" in answer.headers["Cache-Control"]
    secret = text.rpartition("_")[2]
    for name in ("apitoken_changelist", "apitoken_add", "controlevent_changelist", "dashboard_changelist"):
        assert secret not in client.get(page_url(name)).content.decode()
    assert secret not in str(list(LogEntry.objects.values()))
    assert [secret in str(session.get_decoded()) for session in Session.objects.all()] == [False]


def test_the_log_of_the_admin_has_an_entry(visitor: Visitor, page_url: Url) -> None:
    post(visitor("manage_token"), page_url)
    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.change_message) == (
        ApiToken.objects.get().prefix,
        "Make an API token: 1 moved, 0 skipped.",
    )


def test_it_may_end_at_a_given_time_or_never(visitor: Visitor, page_url: Url) -> None:
    client = visitor("manage_token")
    post(client, page_url, expires="given", expires_at="2999-01-31T09:00")
    post(client, page_url, expires="")
    given, never = ApiToken.objects.order_by("pk")
    assert given.expires_at == timezone.make_aware(datetime(2999, 1, 31, 9))
    assert never.expires_at is None


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"name": "x" * 121}, "name", "at most 120 characters"),
        ({"scopes": []}, "scopes", "This field is required."),
        ({"scopes": ["push"]}, "scopes", "push is not one of the available choices"),
        ({"queues": "two words"}, "queues", "use names, or patterns such as mail.*"),
        ({"queues": "jobs.system"}, "queues", "is the app's own"),
        ({"job_types": "crwl"}, "job_types", "Did you mean 'crawl'?"),
        ({"expires": "given"}, "expires_at", "Say when it expires."),
        ({"expires": "90d", "expires_at": "2999-01-31T09:00"}, "expires_at", "There are two ends now."),
        ({"expires": "given", "expires_at": "2020-01-31T09:00"}, "expires_at", "has passed already"),
        ({"expires": "given", "expires_at": "9999-12-31T23:59"}, "__all__", "use a year from 1900 to 2999"),
        ({"scopes": ["trigger"]}, "__all__", "refund needs the permission auth.change_group"),
    ],
)
def test_what_cannot_be_is_told_beside_the_field(
    change: dict[str, Any], field: str, told: str, visitor: Visitor, page_url: Url
) -> None:
    answer = post(visitor("manage_token"), page_url, **change)
    assert answer.status_code == 200
    assert told in str(answer.context["form"].errors.get_json_data()[field])
    assert not ApiToken.objects.exists()


def test_the_list_has_what_each_is_for_and_whether_it_is_in_force(visitor: Visitor, page_url: Url) -> None:
    with frozen_clock(T):
        options: dict[str, Any] = {"scopes": ["pull"], "queues": ["mail.*"], "job_types": ["crawl"]}
        lasting = control.create_token("lasting", "ann", **options).token
        control.create_token("short", "bob", scopes=["read"], expires_at=T + timedelta(seconds=1))
        gone = control.create_token("gone", "cyd", scopes=["read"]).token
        control.revoke_token(gone.pk, "cyd")
    with frozen_clock(T + timedelta(seconds=1)):
        page = visitor("manage_token").get(page_url("apitoken_changelist")).content.decode()
    rows = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", page, re.DOTALL)
    assert [re.search("(lasting|short|gone)", row)[0] for row in rows] == ["short", "lasting", "gone"]  # type: ignore[index]
    for row, told in zip(rows, ("expired", "in force", "revoked"), strict=True):
        assert told in row
    assert all(each in rows[1] for each in ("mail.*", "crawl", "ann", lasting.prefix, "never"))
    assert page_url("apitoken_revoke", lasting.pk) in page
    assert page_url("apitoken_revoke", gone.pk) not in page
    assert page_url("controlevent_changelist") + "?target_kind" not in page  # closed to this visitor


def test_no_token_at_all_is_said(visitor: Visitor, page_url: Url) -> None:
    page = visitor("manage_token").get(page_url("apitoken_changelist")).content.decode()
    assert "no program may speak over HTTP" in page


def test_it_is_revoked_with_a_reason_and_stays_in_the_list(visitor: Visitor, page_url: Url) -> None:
    created = control.create_token("crawler", "ann", scopes=["pull"])
    client, url = visitor("manage_token"), page_url("apitoken_revoke", created.token.pk)
    assert created.token.prefix in client.get(url).content.decode()
    answer = client.post(url, {"reason": "leaked"}, follow=True)
    assert "1 token revoked." in answer.content.decode()
    assert "crawler" in answer.content.decode()
    assert find_token(connection, created.text) is None
    assert ControlEvent.objects.get(action="revoke").reason == "leaked"
    again = client.post(url, follow=True)
    assert "is revoked already" in again.content.decode()
    assert client.get(page_url("apitoken_revoke", 999)).status_code == 404


def test_a_row_that_somebody_else_wrote_may_hold_anything(visitor: Visitor, page_url: Url) -> None:
    row = ApiToken.objects.create(name="<i>\u202e", prefix="<i>", scopes={}, queues=7, job_types=[{"<i>": 1}])
    client = visitor("manage_token")
    for page in (page_url("apitoken_changelist"), page_url("apitoken_revoke", row.pk)):
        text = client.get(page).content.decode()
        assert "<i>" not in text
        assert "\u202e" not in text


def test_the_page_has_no_script_of_its_own(visitor: Visitor, page_url: Url) -> None:
    text = post(visitor("manage_token"), page_url).content.decode()
    ours = text.partition('<div class="jobs" id="jobs">')[2]
    assert "<script" not in ours.partition("</main>")[0]
    assert re.findall(r"\son\w+=", ours) == []
