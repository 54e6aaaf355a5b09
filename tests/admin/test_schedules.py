"""The list of schedules and the page of one: what they tell, to whom, and at what cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from jobs_app import job
from jobs_app.ids import slot_id
from jobs_app.lifecycle import control
from jobs_app.models import ScheduleState
from tests.admin.conftest import Visitor
from tests.lifecycle.history import finished
from tests.lifecycle.planned import change, define_types, row
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
HOSTILE = ["a/b", '"><script>alert(1)</script>', "100%25", "o'neil & co", "日本/ü", "x?y#z"]
BUTTONS = ("pause", "trigger", "edit", "backfill")


@pytest.fixture(autouse=True)
def world() -> None:
    define_types()


def text(client: Client, url: str, **query: Any) -> str:
    with at(60):
        answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def planned(subject: str = "", **columns: Any) -> ScheduleState:
    given = {"job_type": "report", "interval_seconds": 900, "next_run_at": T + timedelta(hours=1), "origin": "admin"}
    return ScheduleState.objects.create(subject=subject, **(given | columns))


def test_the_list_tells_when_next_in_words_and_on_both_clocks(visitor: Visitor, page_url: PageUrl) -> None:
    planned("berlin", interval_seconds=None, cron="30 2 * * *", timezone="Europe/Berlin", next_run_at=T)
    planned("often")
    page = text(visitor(), page_url("schedulestate_changelist"))
    for told in ("every day at 02:30", "Europe/Berlin", "30 2 * * *", "every 15 minutes", "every hour"):
        assert told in page
    assert "Thu 01/01/2026 13:00:00 CET" in page
    assert "Fri 01/02/2026 02:30:00 CET" in page
    assert "01/01/2026 19:30:00 CST" in page  # the reader's, where nobody chose another


def test_the_list_tells_state_lag_last_outcome_and_origin(visitor: Visitor, page_url: PageUrl) -> None:
    late = planned("late", next_run_at=T - timedelta(hours=1))
    run = finished(0, "failed", schedule=late.pk, job_type="report")
    planned("off", disabled=True, last_error="ValueError: <no>")
    change(jitter=5)
    page = text(visitor(), page_url("schedulestate_changelist"))
    assert "1h 1m late" in page
    assert page_url("run_detail", run) in page
    assert "switched off" in page
    assert "ValueError: &lt;no&gt;" in page
    assert "overridden" in page


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ({"job_type": "report"}, "a-one", "every hour"),
        ({"subject": "a-one"}, "a-one", "b-two"),
        ({"state": "paused"}, "b-two", "a-one"),
        ({"origin": "code"}, "every hour", "a-one"),
        ({"q": "B-TW"}, "b-two", "a-one"),
    ],
)
def test_filters_choose(visitor: Visitor, page_url: PageUrl, query: dict[str, str], shown: str, hidden: str) -> None:
    planned("a-one")
    planned("b-two", paused=True)
    page = text(visitor(), page_url("schedulestate_changelist"), **query)
    rows = page.partition('<section id="schedules"')[2]
    assert shown in rows
    assert hidden not in rows


@pytest.mark.parametrize("query", [{"state": "pausd"}, {"origin": "nowhere"}, {"q": "a\0b"}, {"subject": "\x01"}])
def test_a_filter_that_cannot_be_meant_is_told_and_shows_nothing(
    visitor: Visitor, page_url: PageUrl, query: dict[str, str]
) -> None:
    page = text(visitor(everything=True), page_url("schedulestate_changelist"), **query)
    assert 'role="alert"' in page
    assert "rates" not in page.partition('<section id="schedules"')[2]


def test_the_list_is_paged_behind_names_and_keeps_its_filter(visitor: Visitor, page_url: PageUrl) -> None:
    ScheduleState.objects.bulk_create(
        [ScheduleState(job_type="report", subject=f"s/{n:03}%", interval_seconds=60) for n in range(120)]
    )
    client, url, seen = visitor(), page_url("schedulestate_changelist") + "?job_type=report", []
    while url:
        answer = client.get(url)
        seen += [each["row"].subject for each in answer.context["lines"]]
        url = answer.context["next_url"]
        assert not url or "job_type=report" in url
    assert seen == [f"s/{n:03}%" for n in range(120)]
    back = client.get(answer.context["previous_url"])
    assert back.context["lines"][0]["row"].subject == "s/050%"


def test_the_list_takes_the_same_queries_for_five_and_for_two_hundred(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor(everything=True)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(page_url("schedulestate_changelist"))
        return len(captured)

    def make(first: int, last: int) -> None:
        for number in range(first, last):
            finished(0, schedule=planned(f"s{number}").pk, job_type="report", attempts=0)

    make(0, 5)
    few = queries()
    make(5, 200)
    assert queries() == few


@pytest.mark.parametrize("subject", HOSTILE)
def test_names_are_shown_as_text_and_lead_where_they_say(visitor: Visitor, page_url: PageUrl, subject: str) -> None:
    hostile = planned(subject, last_error=subject)
    client = visitor(everything=True)
    for url in (page_url("schedulestate_changelist"), page_url("schedulestate_detail", hostile.pk)):
        page = text(client, url)
        assert "<script>alert" not in page
        assert f'href="{escape(page_url("subject_detail", subject))}"' in page
    for name in ("pause", "edit", "backfill", "delete"):
        assert "<script>alert" not in text(client, page_url(f"schedulestate_{name}", hostile.pk))


@pytest.mark.spec("S2.R5")
def test_a_schedule_tells_its_rule_zone_payload_limits_and_slots(visitor: Visitor, page_url: PageUrl) -> None:
    mine = planned(
        "berlin",
        interval_seconds=None,
        cron="30 2 * * *",
        timezone="Europe/Berlin",
        next_run_at=T.replace(month=10, day=25, hour=0, minute=30),
        payload={"n": 4711, "token": "hush"},
        catch_up="all",
        catch_up_max=7,
        overlap="skip",
    )
    page = text(visitor("view_payload"), page_url("schedulestate_detail", mine.pk))
    for told in ("every day at 02:30", "Europe/Berlin", "4711", "[hidden]", "all, capped", "7 at once"):
        assert told in page
    assert "skip while one is live" in page
    assert "Sun 10/25/2026 02:30:00 CEST" in page
    assert "clocks go back: 02:30 comes twice, the first time counts" in page
    assert "hush" not in page


def test_a_payload_is_for_those_who_may_see_payloads(visitor: Visitor, page_url: PageUrl) -> None:
    change(payload={"n": 4711})
    url = page_url("schedulestate_detail", row("rates").pk)
    assert "4711" not in text(visitor("view_controlevent"), url)
    assert "4711" in text(visitor("view_payload"), url)


def test_a_schedule_shows_its_runs_overrides_and_control_history(visitor: Visitor, page_url: PageUrl) -> None:
    rates = row("rates")
    old = slot_id("rates", "", "", T - timedelta(hours=1))
    finished(0, "failed", id=old, schedule=rates.pk)
    change(every="2h")
    control.pause_schedule(rates.pk, "bob", "<em>audit</em>")
    url = page_url("schedulestate_detail", rates.pk)
    page = text(visitor("view_controlevent"), url)
    assert page_url("run_detail", old) in page
    assert "7200" in page
    assert "3600" in page
    assert "by bob" in page
    assert "&lt;em&gt;audit&lt;/em&gt;" in page
    assert "by bob" not in text(visitor(), url)


def test_who_may_only_look_sees_no_button(visitor: Visitor, page_url: PageUrl) -> None:
    rates = row("rates")
    urls = [page_url(f"schedulestate_{name}", rates.pk) for name in BUTTONS]
    for url in (page_url("schedulestate_detail", rates.pk), page_url("schedulestate_changelist") + "?job_type=rates"):
        looked, acted = text(visitor(), url), text(visitor(everything=True), url)
        assert "jobs-button-quiet" not in looked
        assert not [each for each in urls if each in looked]
        assert page_url("schedulestate_pause", rates.pk) in acted
    assert "schedulestate/pause/" in acted
    assert "schedulestate/pause/" not in looked


def test_a_job_type_s_own_permission_hides_what_plans_it(visitor: Visitor, page_url: PageUrl) -> None:
    books = planned(job_type="books")
    mine = ("pause_schedule", "trigger_job", "change_schedulestate", "backfill_schedule", "delete_schedulestate")
    url = page_url("schedulestate_detail", books.pk)
    outsider, insider = text(visitor(*mine), url), text(visitor(*mine, "add_job"), url)
    for name in ("trigger", "edit", "backfill", "delete"):
        assert page_url(f"schedulestate_{name}", books.pk) not in outsider
        assert page_url(f"schedulestate_{name}", books.pk) in insider
    assert page_url("schedulestate_pause", books.pk) in outsider


def test_a_schedule_that_is_gone_is_not_found(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor(everything=True)
    for name in ("detail", "edit", "pause", "backfill", "delete"):
        assert client.get(page_url(f"schedulestate_{name}", 4711)).status_code == 404


def test_one_whose_job_type_is_gone_or_whose_cron_is_none_is_still_shown(visitor: Visitor, page_url: PageUrl) -> None:
    gone = planned(job_type="gone", retired=True)
    odd = planned("odd", interval_seconds=None, cron="now and then")
    client = visitor(everything=True)
    assert "its job type is gone from code" in text(client, page_url("schedulestate_detail", gone.pk))
    assert "now and then" in text(client, page_url("schedulestate_detail", odd.pk))
    assert "now and then" in text(client, page_url("schedulestate_edit", odd.pk))


def test_where_there_is_none_the_page_says_how_to_get_one(visitor: Visitor, page_url: PageUrl) -> None:
    ScheduleState.objects.all().delete()
    assert "@job(every=" in text(visitor(), page_url("schedulestate_changelist"))
    job(name="more")(lambda: None)
    assert "Clear the filter" in text(visitor(), page_url("schedulestate_changelist"), job_type="more")
