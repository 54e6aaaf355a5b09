"""Acts upon all of a list in the admin: seen, confirmed, done to what was seen, told, and only by who may."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from importlib import import_module
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client

from jobs_app import job
from jobs_app.models import ControlEvent, Job, JobRun
from tests.admin.filling import filled_in
from tests.insights.run_rows import ago, ended, running, waiting
from tests.lifecycle.rows import at

pytestmark = pytest.mark.django_db
bulk_module = import_module("jobs_app.lifecycle.control.bulk")  # the package has a function of that name
selection_module = import_module("jobs_app.insights.run_selection")
TIMES = "\N{MULTIPLICATION SIGN}"
Visitor, Url = Callable[..., Client], Callable[..., str]
PERMISSIONS = {name: verb.permission for name, verb in bulk_module.VERBS.items()}


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@pytest.fixture(autouse=True)
def types() -> None:
    job(name="work")(lambda: None)
    job(name="guarded", permission="auth.view_user")(lambda: None)


@pytest.fixture
def url(page_url: Url) -> Callable[..., str]:
    def make(verb: str, query: str) -> str:
        return f"{page_url(f'run_bulk_{verb}')}?{query}"

    return make


def text_of(answer: Any) -> str:
    return unescape(answer.content.decode())


def confirm(client: Client, address: str, **changes: str) -> Any:
    """See the page, and press its button."""
    return client.post(address, filled_in(client.get(address).content.decode()) | changes)


def told(answer: Any) -> str:
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def test_the_page_shows_what_will_be_done_and_does_nothing(visitor: Visitor, url: Url) -> None:
    ids = [ended(ago(seconds=number), "failed") for number in range(12)]
    ended(ago(minutes=1), "failed", job_type="guarded")
    page = text_of(visitor("retry_run").get(url("retry", "job_type=work")))
    assert "<strong>12</strong> runs" in page
    assert all(str(run_id) in page for run_id in ids[:10])
    assert str(ids[10]) not in page
    guarded = text_of(visitor("retry_run").get(url("retry", "state=failed")))
    assert f"1 {TIMES} needs the permission auth.view_user" in guarded
    assert (Job.objects.count(), ControlEvent.objects.count()) == (0, 0)


@pytest.mark.spec("S2.33")
def test_what_failed_is_run_again_and_the_way_back_keeps_the_filter(visitor: Visitor, url: Url, page_url: Url) -> None:
    failed = ended(state="failed", payload={}, subject="acme")
    answer = confirm(visitor("retry_run"), url("retry", "state=failed&subject=acme"), reason="the API is up")
    assert answer.status_code == 302
    assert answer.url == f"{page_url('run_changelist')}?state=failed&subject=acme"
    assert "1 retried." in told(answer)
    new = Job.objects.get()
    assert (new.parent, new.payload, new.subject) == (failed, {}, "acme")
    event = ControlEvent.objects.get()
    assert (event.action, event.reason, event.moved) == ("retry", "the API is up", 1)
    assert event.detail["filter"]["subject"] == "acme"
    assert "1 moved" in LogEntry.objects.get().change_message


def test_who_came_from_another_page_goes_back_there(visitor: Visitor, url: Url) -> None:
    waiting()
    address = url("cancel", "job_type=work&next=/admin/jobs_app/dashboard/")
    assert confirm(visitor("cancel_run"), address).url == "/admin/jobs_app/dashboard/"
    address = url("cancel", "job_type=work&next=https://evil.example/")
    assert "evil" not in confirm(visitor("cancel_run"), address).url


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_each_verb_moves_what_it_is_about_and_tells_how_many(verb: str, visitor: Visitor, url: Url) -> None:
    failed, waits, lost = ended(state="failed"), waiting(), running(worker_id="gone")
    answer = confirm(visitor(PERMISSIONS[verb]), url(verb, "job_type=work"))
    moved = {
        "retry": [failed],
        "cancel": [waits, lost],
        "abort": [waits, lost],
        "fail": [waits, lost],
        "requeue": [lost],
    }
    assert told(answer).startswith(f"{len(moved[verb])} ")
    assert ControlEvent.objects.get().moved == len(moved[verb])


@pytest.mark.parametrize("verb", PERMISSIONS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_no_other_permission_lets_in(verb: str, method: str, visitor: Visitor, url: Url) -> None:
    waiting()
    others = sorted(set(PERMISSIONS.values()) - {PERMISSIONS[verb]})
    assert getattr(visitor(*others), method)(url(verb, "job_type=work")).status_code == 403
    assert ControlEvent.objects.count() == 0


def test_a_type_with_a_permission_of_its_own_is_skipped_and_the_message_says_so(visitor: Visitor, url: Url) -> None:
    ended(state="failed")
    ended(state="failed", job_type="guarded")
    answer = confirm(visitor("retry_run"), url("retry", "state=failed"))
    assert "1 retried." in told(answer)
    assert "1 was skipped: needs the permission auth.view_user." in told(answer)


@pytest.mark.parametrize("query", ["", "window=7d", "state=dead", "state=failed", "q=payload.a:1"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_filter_that_is_empty_wrong_or_not_for_the_verb_is_refused(
    query: str, method: str, visitor: Visitor, url: Url
) -> None:
    waiting()
    answer = getattr(visitor("cancel_run"), method)(url("cancel", query))
    assert answer.status_code == 400
    assert "Nothing was changed" in text_of(answer)
    assert Job.objects.count() == 1


def test_what_is_queued_after_the_page_was_seen_is_not_touched(visitor: Visitor, url: Url) -> None:
    client, address = visitor("cancel_run"), url("cancel", "job_type=work")
    seen = waiting()
    form = filled_in(client.get(address).content.decode())
    with at(120):
        later = waiting(ago(seconds=-90))
        client.post(address, form)
    assert (JobRun.objects.get().pk, Job.objects.get().pk) == (seen, later)


@pytest.mark.parametrize("moment", ["", "yesterday"])
def test_without_its_moment_nothing_is_done(moment: str, visitor: Visitor, url: Url) -> None:
    waiting()
    answer = visitor("cancel_run").post(url("cancel", "job_type=work"), {"moment": moment})
    assert answer.status_code == 200
    assert Job.objects.count() == 1


def test_a_moment_to_come_is_now(visitor: Visitor, url: Url) -> None:
    later = waiting(ago(seconds=-90))
    visitor("cancel_run").post(url("cancel", "job_type=work"), {"moment": "2030-01-01T00:00:00+00:00"})
    assert Job.objects.get().pk == later


@pytest.mark.usefixtures("chores")
def test_many_are_done_by_a_job_whose_run_tells_how_far_it_is(
    visitor: Visitor,
    url: Url,
    page_url: Url,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk_module, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(selection_module, "MOST_AT_ONCE", 2)
    for number in range(3):
        waiting(ago(seconds=number))
    client, address = visitor("cancel_run"), url("cancel", "job_type=work")
    assert "a job of the app's own will do it" in text_of(client.get(address))
    answer = confirm(client, address, reason="too many")
    run = Job.objects.get(job_type="jobs.bulk")
    assert answer.url == page_url("run_detail", run.pk)
    assert "part by part" in told(answer)
    assert run.payload["query"]["job_type"] == "work"
    assert (ControlEvent.objects.get().target, LogEntry.objects.get().object_id) == (str(run.pk), str(run.pk))
    assert client.get(answer.url).status_code == 200
