"""Schedules are paused, resumed, triggered, restored and deleted from the admin: one by one, and all of a filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client

from jobs_app import job, subjects
from jobs_app.models import ControlEvent, Job, ScheduleState
from jobs_app.scheduler.subjects import sync_subjects
from jobs_app.scheduler.tick import tick
from jobs_app.sources import sources
from tests.admin.conftest import Visitor
from tests.lifecycle.planned import change, define_types, made_at, row
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
HOUR = 3600
THREE_HOURS = 3 * HOUR


@pytest.fixture(autouse=True)
def world() -> None:
    define_types()


def post(client: Client, url: str, seconds: float = 60, **data: Any) -> str:
    """What the message says."""
    with at(seconds):
        answer = client.post(url, data)
    assert answer.status_code == 302, answer.content.decode()
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def planned(job_type: str, subject: str, **columns: Any) -> ScheduleState:
    given = {"interval_seconds": HOUR, "next_run_at": T, "origin": "source"} | columns
    return ScheduleState.objects.create(job_type=job_type, subject=subject, **given)


@pytest.mark.spec("S0.47", "S0.R1")
def test_a_schedule_paused_by_hand_is_never_due_until_somebody_resumes_it(visitor: Visitor, page_url: PageUrl) -> None:
    client, rates = visitor("pause_schedule"), row("rates")
    told = post(client, page_url("schedulestate_pause", rates.pk), reason="audit")
    assert "1 paused" in told
    assert made_at(THREE_HOURS, "rates") == []
    post(client, page_url("schedulestate_resume", rates.pk), THREE_HOURS)
    assert made_at(THREE_HOURS, "rates") == [T + timedelta(hours=3)]
    pause, resume = ControlEvent.objects.order_by("id")
    assert (pause.action, pause.target, pause.reason) == ("pause", "rates", "audit")
    assert (resume.action, resume.moved) == ("resume", 1)
    assert [entry.object_id for entry in LogEntry.objects.order_by("id")] == ["rates", "rates"]


@pytest.mark.spec("S0.R2", "A0.7")
def test_a_pause_is_not_made_up_for_unless_somebody_asks(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_schedule")
    change(seconds=0, catch_up="all")
    rates = row("rates")
    post(client, page_url("schedulestate_pause", rates.pk))
    post(client, page_url("schedulestate_resume", rates.pk), THREE_HOURS)
    assert len(made_at(THREE_HOURS, "rates")) == 1
    post(client, page_url("schedulestate_pause", rates.pk), THREE_HOURS)
    post(client, page_url("schedulestate_resume", rates.pk), 2 * THREE_HOURS, backfill="on")
    assert len(made_at(2 * THREE_HOURS, "rates")) == 3
    assert ControlEvent.objects.filter(action="resume", detail__backfill=True).count() == 1


@pytest.mark.spec("S0.47", "S0.R2")
def test_trigger_now_makes_it_due_and_resumes_it(visitor: Visitor, page_url: PageUrl) -> None:
    rates = row("rates")
    client = visitor("pause_schedule", "trigger_job")
    post(client, page_url("schedulestate_pause", rates.pk))
    assert "1 due now" in post(client, page_url("schedulestate_trigger", rates.pk), 120)
    assert made_at(120, "rates") == [T + timedelta(seconds=120)]
    assert not row("rates").paused


def test_who_may_not_resume_does_not_do_so_by_a_trigger(visitor: Visitor, page_url: PageUrl) -> None:
    rates = row("rates")
    post(visitor("pause_schedule"), page_url("schedulestate_pause", rates.pk))
    told = post(visitor("trigger_job"), page_url("schedulestate_trigger", rates.pk))
    assert "1 was skipped: is paused" in told
    assert row("rates").paused


@pytest.mark.spec("S0.R1", "S0.R2", "S0.47", "A0.7")
def test_all_of_a_subject_or_of_a_job_type_are_paused_resumed_and_triggered_by_their_filter(
    visitor: Visitor, page_url: PageUrl
) -> None:
    job(name="deal")(lambda: None)
    for subject in ("A", "B"):
        for job_type in ("rates", "deal"):
            planned(job_type, subject)
    client = visitor("pause_schedule", "trigger_job")
    assert "2 paused" in post(client, page_url("schedulestate_bulk_pause"), subject="A")
    assert "2 paused" in post(client, page_url("schedulestate_bulk_pause"), job_type="rates", state="active")
    assert {str(each) for each in ScheduleState.objects.filter(paused=True)} == {
        "deal A",
        "rates",
        "rates A",
        "rates B",
    }
    with at(THREE_HOURS):
        assert {made.schedule for made in tick(connection).made} == {"deal B"}
    assert "2 resumed" in post(client, page_url("schedulestate_bulk_resume"), THREE_HOURS, subject="A")
    with at(THREE_HOURS):
        assert len(tick(connection).made) == 2
    assert "3 due now" in post(client, page_url("schedulestate_bulk_trigger"), THREE_HOURS + 60, job_type="rates")
    assert {event.target for event in ControlEvent.objects.filter(target_kind="subject")} == {"A"}


def test_the_confirmation_counts_shows_some_and_posts_the_filter_not_the_rows(
    visitor: Visitor, page_url: PageUrl
) -> None:
    for number in range(15):
        planned("rates", f"s{number:02}", paused=number < 3)
    answer = visitor("pause_schedule").get(
        page_url("schedulestate_bulk_pause"), {"job_type": "rates", "origin": "source"}
    )
    page = answer.content.decode()
    assert answer.context["count"] == 15
    assert len(answer.context["sample"]) == 10
    assert ("Paused of these", "3") in answer.context["facts"]
    assert '<input type="hidden" name="job_type" value="rates"' in page
    assert '<input type="hidden" name="origin" value="source"' in page
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize("data", [{}, {"job_type": ""}, {"state": "pausd"}, {"job_type": "rates", "state": "x"}])
@pytest.mark.parametrize("act", ["pause", "resume", "trigger", "backfill"])
def test_an_empty_filter_and_one_that_nobody_can_mean_are_refused(
    visitor: Visitor, page_url: PageUrl, act: str, data: dict[str, str]
) -> None:
    client, url = visitor(everything=True), page_url(f"schedulestate_bulk_{act}")
    for method in (client.get, client.post):
        answer = method(url, data)
        assert answer.status_code == 302
    assert not ControlEvent.objects.exists()
    assert not row("rates").paused


@pytest.mark.parametrize("act", ["pause", "trigger", "backfill"])
def test_what_is_in_trouble_is_acted_upon_together(visitor: Visitor, page_url: PageUrl, act: str) -> None:
    planned("rates", "late", next_run_at=T - timedelta(days=1))
    planned("rates", "failing", failures=2, next_run_at=T + timedelta(days=1))
    client, url = visitor(everything=True), page_url(f"schedulestate_bulk_{act}")
    with at(0):
        assert client.get(url, {"trouble": "failing"}).context["count"] == 1
    given = {"start": "2026-01-01T01:00", "end": "2026-01-01T05:00", "most": "9"} if act == "backfill" else {}
    post(client, url, trouble="failing", **given)
    event = ControlEvent.objects.get()
    assert (event.target, event.moved) == ("trouble 'failing'", 1)


def test_a_filter_of_a_type_that_nobody_knows_can_be_looked_at(visitor: Visitor, page_url: PageUrl) -> None:
    for act in ("pause", "backfill"):
        answer = visitor(everything=True).get(page_url(f"schedulestate_bulk_{act}"), {"job_type": "rtes"})
        assert answer.context["count"] == 0


def test_a_job_type_that_nobody_knows_is_told_and_nothing_changes(visitor: Visitor, page_url: PageUrl) -> None:
    answer = visitor("pause_schedule").post(page_url("schedulestate_bulk_pause"), {"job_type": "rtes"})
    assert "Did you mean" in answer.content.decode()
    assert not ControlEvent.objects.exists()


def test_the_filter_of_the_list_is_kept(visitor: Visitor, page_url: PageUrl) -> None:
    back = page_url("schedulestate_changelist") + "?job_type=rates&state=active"
    with at(0):
        answer = visitor("pause_schedule").post(
            page_url("schedulestate_bulk_pause"), {"job_type": "rates", "next": back}
        )
    assert answer["Location"] == back


def test_an_overridden_schedule_is_given_back_to_code(visitor: Visitor, page_url: PageUrl) -> None:
    change(every="2h")
    post(visitor("change_schedulestate"), page_url("schedulestate_restore", row("rates").pk))
    assert row("rates").overrides == {}


def test_only_what_operators_made_or_code_gave_up_is_deleted(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("delete_schedulestate")
    mine, theirs = planned("report", "mine", origin="admin"), row("rates")
    url = page_url("schedulestate_delete", mine.pk)
    with at(0):
        answer = client.post(url, {"next": page_url("schedulestate_detail", mine.pk)})
    assert answer["Location"] == page_url("schedulestate_changelist")  # its own page is gone
    assert not ScheduleState.objects.filter(pk=mine.pk).exists()
    assert "is declared in code" in post(client, page_url("schedulestate_delete", theirs.pk))
    assert ScheduleState.objects.filter(pk=theirs.pk).exists()


ACTS = {
    "pause": "pause_schedule",
    "resume": "pause_schedule",
    "trigger": "trigger_job",
    "restore": "change_schedulestate",
    "edit": "change_schedulestate",
    "delete": "delete_schedulestate",
    "backfill": "backfill_schedule",
}


@pytest.mark.parametrize("act", ACTS)
def test_each_act_needs_its_own_permission_to_be_seen_and_to_be_done(
    visitor: Visitor, page_url: PageUrl, act: str
) -> None:
    url = page_url(f"schedulestate_{act}", row("rates").pk)
    others = sorted(set(ACTS.values()) - {ACTS[act]})
    for client in (visitor(), visitor(*others), visitor(ACTS[act], sees=False)):
        assert client.get(url).status_code == client.post(url).status_code == 403
    assert visitor(ACTS[act]).get(url).status_code == 200
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize("act", ["trigger", "edit", "backfill", "restore", "delete"])
def test_planning_a_job_type_needs_the_type_s_own_permission_too(visitor: Visitor, page_url: PageUrl, act: str) -> None:
    books = planned("books", "", origin="admin")
    url = page_url(f"schedulestate_{act}", books.pk)
    client = visitor(ACTS[act])
    assert client.get(url).status_code == client.post(url, {"reason": "please"}).status_code == 403
    assert visitor(ACTS[act], "add_job").get(url).status_code == 200
    assert ScheduleState.objects.filter(pk=books.pk).exists()


def test_a_bulk_trigger_skips_types_that_need_another_permission_and_says_so(
    visitor: Visitor, page_url: PageUrl
) -> None:
    planned("books", "a")
    planned("report", "a")
    told = post(visitor("trigger_job"), page_url("schedulestate_bulk_trigger"), subject="a")
    assert "1 due now" in told
    assert "needs the permission jobs_app.add_job" in told


@pytest.mark.spec("A0.7", "S0.R1", "S0.R2", "S0.47")
def test_a_provider_paused_from_its_page_stays_so_through_a_new_rate_and_comes_back_once(
    visitor: Visitor, page_url: PageUrl
) -> None:
    rate = [4.0]
    job(name="deal")(lambda: None)
    subjects("deal")(lambda: [{"subject": name, "per_hour": rate[0]} for name in ("A", "B")])

    def passed(seconds: float) -> int:
        source = sources.of("deal")
        assert source is not None
        with at(seconds):
            sync_subjects(connection, source)
            tick(connection)
        return Job.objects.filter(job_type="deal", subject="A").count()

    client, rate_of = visitor("pause_schedule"), ScheduleState.objects.filter(subject="A", paused=True)
    assert passed(0) == 1
    post(client, page_url("schedulestate_bulk_pause"), subject="A")
    rate[0] = 2.0
    assert passed(HOUR) == 1
    assert rate_of.get().interval_seconds == 1800
    post(client, page_url("schedulestate_bulk_resume"), THREE_HOURS, subject="A")
    assert passed(THREE_HOURS) == passed(THREE_HOURS + 60) == 2
