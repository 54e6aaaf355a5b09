"""Every act is confirmed, done by POST, told, put down twice, and leads back to where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client

from jobs_app.models import ControlEvent, Pause
from tests.admin.conftest import Visitor
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

PAUSE = "dashboard_pause_all"


@pytest.fixture
def url(page_url: Callable[..., str]) -> str:
    return page_url(PAUSE)


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def test_to_ask_changes_nothing(visitor: Visitor, url: str) -> None:
    response = visitor("pause_all").get(url)
    assert response.status_code == 200
    assert b'name="reason"' in response.content
    assert not Pause.objects.exists()


def test_an_act_is_done_told_and_put_down(visitor: Visitor, url: str) -> None:
    client = visitor("pause_all")
    response = client.post(url, {"reason": "disk full"})
    assert response.status_code == 302
    pause, event, entry = Pause.objects.get(), ControlEvent.objects.get(), LogEntry.objects.get()
    assert (pause.scope, pause.reason) == ("all", "disk full")
    assert (event.action, event.actor, event.reason) == ("pause", pause.actor, "disk full")
    assert entry.user.get_username() == pause.actor
    assert "1 moved, 0 skipped" in entry.get_change_message()
    assert "Everything is paused." in told(response)


def test_a_reason_that_is_required_is_asked_for(visitor: Visitor, url: str) -> None:
    response = visitor("pause_all").post(url, {"reason": ""})
    assert response.status_code == 200
    assert "Nothing was changed" in response.text
    assert not Pause.objects.exists()


def test_what_was_skipped_is_told_with_its_reason(visitor: Visitor, page_url: Callable[..., str]) -> None:
    [run] = stored()
    client = visitor("cancel_run")
    client.post(page_url("run_cancel", run))
    response = client.post(page_url("run_cancel", run))
    assert "1 was skipped: has already been cancelled." in told(response)
    assert ControlEvent.objects.latest("pk").skipped == 1


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_not_is_refused_and_nothing_is_written(visitor: Visitor, url: str, method: str) -> None:
    response = getattr(visitor("pause_queue"), method)(url, {"reason": "x"})
    assert response.status_code == 403
    assert not Pause.objects.exists()
    assert not ControlEvent.objects.exists()
    assert not LogEntry.objects.exists()


def test_it_leads_back_with_the_filters_of_the_page_it_came_from(visitor: Visitor, url: str) -> None:
    came_from = "/admin/jobs_app/run/?state=failed&queue=mail"
    client = visitor("pause_all")
    assert "state=failed&amp;queue=mail" in client.get(url, {"next": came_from}).text
    assert client.post(url, {"reason": "x", "next": came_from})["Location"] == came_from


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_it_leads_to_no_other_site(visitor: Visitor, url: str, elsewhere: str) -> None:
    client = visitor("pause_all")
    assert "evil" not in client.get(url, {"next": elsewhere}).text
    assert client.post(url, {"reason": "x", "next": elsewhere})["Location"].startswith("/admin/")


def test_a_post_needs_the_token_of_its_form(visitor: Visitor, url: str) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = visitor("pause_all").cookies
    assert careful.post(url, {"reason": "x"}).status_code == 403
    assert not Pause.objects.exists()
