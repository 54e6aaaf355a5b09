"""The list of runs: what it shows, how it is filtered and turned, what it says when there is nothing or too much."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights import run_keys
from jobs_app.insights.budget import OutOfBudget
from jobs_app.models import ScheduleState
from tests.insights.run_rows import ago, ended, running, waiting
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db
PageUrl = Callable[..., str]
Read = Callable[..., str]
TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@pytest.fixture
def reader(visitor: Callable[..., Client], page_url: PageUrl) -> Read:
    """What someone with these permissions reads, the text of the page."""

    def read(*codenames: str, address: str = "", **query: Any) -> str:
        answer = visitor(*codenames).get(address or page_url("run_changelist"), query)
        assert answer.status_code == 200
        return unescape(answer.content.decode())

    return read


def links(page: str, text: str) -> list[str]:
    """Where the links with this text lead."""
    parts = page.split(f">{text}</a>")[:-1]
    return [part.rsplit('href="', 1)[1].split('"', 1)[0] for part in parts]


@pytest.mark.spec("S2.28")
def test_live_and_finished_runs_are_one_list_newest_first(reader: Read) -> None:
    waiting(ago(minutes=2), job_type="sync-stock", subject="acme")
    ended(ago(minutes=1), "failed", job_type="send-mail", error_class="smtplib.SMTPDataError", error="mailbox full")
    running(ago(minutes=3), job_type="build-report", queue="reports")
    page = reader()
    assert page.index("send-mail") < page.index("sync-stock") < page.index("build-report")
    for text in ("smtplib.SMTPDataError", "mailbox full", "acme", "reports", "Runs, newest first"):
        assert text in page


@pytest.mark.spec("S4.26")
def test_what_waits_for_a_retry_says_until_when_and_why(reader: Read) -> None:
    waiting(attempts=2, run_at=T + timedelta(hours=2), last_error="no answer")
    page = reader(state="retrying")
    assert "due" in page
    assert (T + timedelta(hours=2)).isoformat() in page
    assert "no answer" in page
    assert "2/5" in page


@pytest.mark.spec("S4.19")
def test_each_state_has_its_count_and_share_and_leads_to_its_runs(reader: Read) -> None:
    for state in ("succeeded", "succeeded", "succeeded", "succeeded", "failed"):
        ended(state=state, job_type=f"was-{state}")
    page = reader()
    assert "80.00 %" in page
    assert "20.00 %" in page
    failed = reader(state="failed", window="24h")
    assert "was-failed" in failed.split("<tbody>")[1]
    assert "was-succeeded" not in failed.split("<tbody>")[1]


@pytest.mark.spec("S4.19")
def test_there_are_views_for_what_is_due_next_what_is_retried_and_what_failed(reader: Read) -> None:
    page = reader()
    views = {
        "Waiting, by when it is due": {"state": ["waiting"], "order": ["due"]},
        "Waiting for a retry": {"state": ["retrying"], "order": ["due"]},
        "Failed": {"state": ["failed"]},
    }
    for text, query in views.items():
        assert parse_qs(urlsplit(links(page, text)[0]).query) == query


def test_pages_are_turned_by_links_that_keep_the_filter(reader: Read, page_url: PageUrl) -> None:
    for number in range(120):
        ended(ago(seconds=number), subject=f"number {number:03}", queue="mail")
    first = reader(queue="mail")
    [older] = links(first, "Older")
    second = reader(address=older)
    [last] = links(second, "Older")
    third = reader(address=last)
    shown = [[number for number in range(120) if f"number {number:03}" in page] for page in (first, second, third)]
    assert shown == [list(range(50)), list(range(50, 100)), list(range(100, 120))]
    assert links(first, "Newer") == links(third, "Older") == []
    assert reader(address=links(third, "Newer")[0]).count("number 0") == second.count("number 0")
    assert links(third, "Newest") == [f"{page_url('run_changelist')}?queue=mail"]
    assert "120 runs" in first


def test_chips_tell_the_filters_and_lead_to_the_list_without_each(reader: Read) -> None:
    page = reader(state="failed", subject="acme")
    assert "state: <strong>failed</strong>" in page
    assert [urlsplit(url).query for url in links(page, TIMES)] == ["subject=acme", "state=failed"]


def test_nothing_yet_and_nothing_like_that_are_different_texts(reader: Read) -> None:
    assert "There is no run yet" in reader()
    assert "There is no run yet" in reader(state="failed")
    waiting(ago(days=2))
    for query in ({}, {"state": "failed"}):
        page = reader(**query)
        assert "none of them is like that" in page
        assert "no run yet" not in page


def test_a_value_that_cannot_be_used_is_told_and_the_filter_bar_stays(reader: Read) -> None:
    ended(subject="secret-subject")
    page = reader(state="dead", subject="acme")
    assert "use one of queued" in page
    assert 'name="subject" value="acme"' in page
    assert "secret-subject" not in page
    assert "no place in the list" in reader(older="x")


def test_a_search_without_an_index_says_how_far_it_got_and_goes_on_from_there(
    reader: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_keys, "MOST_ROWS", 3)
    for number in range(5):
        ended(ago(minutes=number), subject="needle" if number == 4 else "hay")
    page = reader(q="needle")
    assert "No such run in the part that was searched" in page
    [further] = links(page, "Search further back")
    assert "needle" in reader(address=further).split("<tbody>")[1]


def test_a_list_that_takes_too_long_says_so_and_the_filter_bar_stays(
    reader: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*args: Any, **kwargs: Any) -> None:
        raise OutOfBudget("reading was stopped after 5 s")

    monkeypatch.setattr("jobs_app.insights.run_list.page", too_long)
    page = reader(subject="acme")
    assert "took too long" in page
    assert 'name="subject" value="acme"' in page


def test_payloads_are_searched_only_by_who_may_see_them(reader: Read) -> None:
    ended(payload={"month": "2026-01"}, subject="found-it")
    page = reader(q="payload.month:2026-01")
    assert "You may not see payloads" in page
    assert "found-it" not in page
    assert "found-it" in reader("view_payload", q="payload.month:2026-01")
    assert "cannot be searched" in reader("view_payload", q="payload.api_token:x")


def test_whatever_is_stored_is_shown_as_text(reader: Read, visitor: Callable[..., Client], page_url: PageUrl) -> None:
    evil = '<script>alert("1")</script>'
    ended(state="failed", subject=evil, error=evil, error_class=evil, actor=evil, job_type=evil[:120], queue=evil)
    page = visitor().get(page_url("run_changelist"), {"q": "script"}).content.decode()
    assert evil not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("codenames", "labels"),
    [
        ([], []),
        (["retry_run"], ["Retry"]),
        (["cancel_run", "abort_run", "fail_run", "reconcile_runs"], ["Cancel", "Abort", "Mark failed", "Requeue"]),
    ],
)
def test_only_who_may_sees_the_buttons_that_act_on_all(codenames: list[str], labels: list[str], reader: Read) -> None:
    waiting(queue="mail")
    page = reader(*codenames, queue="mail")
    every = ["Retry", "Cancel", "Abort", "Mark failed", "Requeue"]
    assert [label for label in every if links(page, label)] == labels


def test_buttons_carry_the_filter_and_are_there_only_where_they_could_do_something(
    reader: Read, page_url: PageUrl
) -> None:
    waiting(queue="mail")
    ended(state="failed", queue="mail")
    may = ("retry_run", "cancel_run")
    [url] = links(reader(*may, state="failed", queue="mail"), "Retry")
    assert urlsplit(url).path == page_url("run_bulk_retry")
    assert parse_qs(urlsplit(url).query) == {
        "state": ["failed"],
        "queue": ["mail"],
        "next": [f"{page_url('run_changelist')}?state=failed&queue=mail"],
    }
    assert links(reader(*may, state="failed"), "Cancel") == []
    assert links(reader(*may), "Retry") == links(reader(*may, window="7d"), "Cancel") == []


def test_a_run_of_a_schedule_leads_to_it(reader: Read, page_url: PageUrl) -> None:
    row = ScheduleState.objects.create(job_type="work", interval_seconds=60, next_run_at=T)
    ended(schedule=row.pk, slot_at=T)
    assert links(reader(), "schedule") == [page_url("schedulestate_detail", row.pk)]


def test_selects_come_from_code_and_keep_what_was_asked_for(reader: Read) -> None:
    job(name="known", queue="mail")(lambda: None)
    ended(job_type="only-in-history", queue="old-queue")
    form = reader(job_type="gone").split('role="search"')[1].split("</form>")[0]
    assert 'value="known"' in form
    assert '<option value="gone" selected>' in form
    assert "only-in-history" not in form
    assert "old-queue" not in form


@pytest.mark.parametrize("query", [{}, {"q": "nothing like that", "state": "failed"}, {"open": "1"}])
def test_a_page_takes_no_more_queries_for_more_runs(
    query: dict[str, str], visitor: Callable[..., Client], page_url: PageUrl
) -> None:
    client, counts = visitor("retry_run"), []
    client.get(page_url("run_changelist"), query)  # what is read once and kept
    for _ in range(2):
        for _ in range(30):
            ended(state="failed", subject="nothing like that", error_class="Timeout")
            waiting(subject="acme")
        with CaptureQueriesContext(connection) as queries:
            client.get(page_url("run_changelist"), query)
        counts.append(len(queries))
    assert counts[1] <= counts[0] <= 17 + (30 if connection.vendor == "postgresql" else 0)  # there each plan is pinned
