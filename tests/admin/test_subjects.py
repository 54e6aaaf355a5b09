"""Subjects in the admin: what is done for whom, and what may be done about it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from jobs_app import job
from jobs_app.admin import subject_jobs_link
from jobs_app.lifecycle import control
from jobs_app.models import Pause
from tests.admin.conftest import Visitor
from tests.insights.planning import ran, schedule
from tests.lifecycle.history import finished
from tests.lifecycle.rows import at, stored, take

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
HOSTILE = ["a/b", '"><script>alert(1)</script>', "100%25", "o'neil & co", "日本/ü", "x?y#z", "a//b", "pause"]


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    job(name="work")(lambda: None)
    job(name="deal", queue="sp.work", policy="singleton")(lambda: None)
    with at(0):
        yield


def text(client: Client, url: str, **query: Any) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_tells_what_is_live_what_failed_the_load_and_the_pause(visitor: Visitor, page_url: PageUrl) -> None:
    ran("deal", [12])
    schedule("deal", "busy", per_hour=6)
    stored(2, subject="busy")
    take(1)
    finished(0.1, "failed", subject="busy")
    control.pause("subject", "busy", "ann", "disputed")
    answer = visitor().get(page_url("subject_changelist"))
    [line] = answer.context["page"].lines
    assert (line.waiting, line.running, line.failed, line.load.minutes) == (1, 1, 1, 72)
    page = answer.content.decode()
    assert "72 of 60" in page
    assert "can never catch up" in page
    assert "paused" in page


def test_numbers_lead_to_exactly_the_runs_that_they_count(visitor: Visitor, page_url: PageUrl) -> None:
    stored(5, subject="a&b")
    take(2)
    stored(subject="other")
    for days in (0.1, 0.9, 1.1):
        finished(days, "failed", subject="a&b")
    client = visitor()
    page = text(client, page_url("subject_changelist"), q="a&b")
    links = re.findall(r'href="([^"]*/run/\?[^"]*)">(\d+)</a>', page)
    assert [int(number) for _, number in links] == [3, 2, 2]  # waiting, running, failed
    for address, number in links:
        answer = client.get(html.unescape(address))
        assert len(answer.context["lines"]) == answer.context["counted"].number == int(number)


def test_subjects_are_found_by_how_they_begin(visitor: Visitor, page_url: PageUrl) -> None:
    for name in ("acme", "beta"):
        stored(subject=name)
    page = text(visitor(), page_url("subject_changelist"), q="AC")
    assert "acme" in page
    assert "beta" not in page
    assert "No subject begins so" in text(visitor(), page_url("subject_changelist"), q="x\0y")


def test_the_list_takes_the_same_queries_for_five_and_for_two_hundred(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor(everything=True)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(page_url("subject_changelist"))
        return len(captured)

    ran("deal", [1])
    for number in range(5):
        schedule("deal", f"s{number}", per_hour=1)
    few = queries()
    for number in range(5, 200):
        schedule("deal", f"s{number}", per_hour=1)
    assert queries() == few


def test_a_subject_tells_what_is_still_running_for_it(visitor: Visitor, page_url: PageUrl) -> None:
    stored(2, subject="acme")
    stored(subject="other")
    [running] = take(1)
    old = finished(1, "failed", subject="acme", error="ReadTimeout: <slow>")
    page = text(visitor(), page_url("subject_detail", "acme"))
    assert page_url("run_detail", running.id) in page
    assert page_url("run_detail", old) in page
    assert "1 running" in page
    assert "1 waiting" in page
    assert "ReadTimeout: &lt;slow&gt;" in page


def test_a_subject_tells_its_schedules_its_load_and_whether_it_can_catch_up(
    visitor: Visitor, page_url: PageUrl
) -> None:
    ran("deal", [12])
    row = schedule("deal", "acme", per_hour=6)
    page = text(visitor(), page_url("subject_detail", "acme"))
    assert page_url("schedulestate_detail", row.pk) in page
    assert "every 10 minutes" in page
    assert "can never catch up: 72 of 60 minutes an hour are needed, 12 are missing" in page


def test_a_subject_is_paused_and_resumed_from_its_page(visitor: Visitor, page_url: PageUrl) -> None:
    client, url = visitor("pause_subject"), page_url("subject_detail", "a/b")
    assert page_url("subject_pause", "a/b") in text(client, url)
    assert client.post(page_url("subject_pause", "a/b"), {"reason": "<em>disputed</em>"}).status_code == 302
    page = text(client, url)
    assert "&lt;em&gt;disputed&lt;/em&gt;" in page
    assert page_url("subject_resume", "a/b") in page
    client.post(page_url("subject_resume", "a/b"))
    assert not Pause.objects.filter(until=None).exists()


def test_its_schedules_are_triggered_and_its_waiting_jobs_cancelled_by_filters(
    visitor: Visitor, page_url: PageUrl
) -> None:
    schedule("deal", "a b", per_hour=1)
    stored(subject="a b")
    page = text(visitor(everything=True), page_url("subject_detail", "a b"))
    assert f"{page_url('schedulestate_bulk_trigger')}?subject=a+b" in page
    assert f"{page_url('run_bulk_cancel')}?subject=a+b&amp;state=waiting" in page
    looked = text(visitor(), page_url("subject_detail", "a b"))
    assert "jobs-button" not in looked.partition('<div class="jobs-toolbar">')[2].partition("</div>")[0]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_shown_as_text_and_has_a_page(visitor: Visitor, page_url: PageUrl, name: str) -> None:
    stored(subject=name)
    control.pause("subject", name, name, name)
    client = visitor(everything=True)
    address = page_url("subject_detail", name)
    page = text(client, page_url("subject_changelist"))
    assert f'href="{escape(address)}"' in page
    assert "<script>alert" not in page
    answer = client.get(address)
    assert answer.context["name"] == name
    assert len(answer.context["work"].waiting) == 1
    assert "<script>alert" not in answer.content.decode()


def test_a_subject_that_nobody_knows_has_a_page_as_well(visitor: Visitor, page_url: PageUrl) -> None:
    assert "It has no schedules" in text(visitor(), page_url("subject_detail", "nobody"))


def test_the_first_look_says_that_no_job_names_a_subject(visitor: Visitor, page_url: PageUrl) -> None:
    assert "No job names a subject" in text(visitor(), page_url("subject_changelist"))


def test_a_page_of_the_host_links_to_the_jobs_of_its_customer(page_url: PageUrl) -> None:
    link = subject_jobs_link("a/b <x>", label="<Jobs>")
    assert link == f'<a href="{page_url("subject_detail", "a/b <x>")}">&lt;Jobs&gt;</a>'
    assert quote("a/b <x>") in link
    assert ">Jobs</a>" in subject_jobs_link("acme")
    assert subject_jobs_link("") == "-"


def test_slots_of_its_schedules_are_told_on_both_clocks(visitor: Visitor, page_url: PageUrl) -> None:
    schedule("deal", "acme", cron="30 2 * * *", timezone="Europe/Berlin")
    page = text(visitor(), page_url("subject_detail", "acme"))
    assert "Fri 01/02/2026 02:30:00 CET · 01/01/2026 19:30:00 CST" in page
