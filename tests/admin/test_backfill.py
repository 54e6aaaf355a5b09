"""Slots of the past are counted first and made then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from jobs_app.models import ControlEvent, Job, ScheduleState
from tests.admin.conftest import Visitor
from tests.lifecycle.planned import define_types, row
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
RANGE = {"start": "2026-01-01T01:00", "end": "2026-01-01T06:00", "most": "100"}  # America/Chicago: 07:00 to 12:00 UTC


@pytest.fixture(autouse=True)
def world() -> None:
    define_types()


def send(client: Client, url: str, **data: Any) -> Any:
    with at(60):
        return client.post(url, RANGE | data)


def test_a_dry_run_tells_what_is_missing_and_stores_nothing(visitor: Visitor, page_url: PageUrl) -> None:
    url = page_url("schedulestate_backfill", row("rates").pk)
    answer = send(visitor("backfill_schedule"), url, preview="1")
    found = answer.context["found"]
    assert (found.made, found.known, found.is_capped) == (5, 1, False)  # the one at noon was made by the tick
    page = answer.content.decode()
    assert "Make 5 jobs" in page
    assert "01/01/2026 01:00:00 CST" in page
    assert Job.objects.count() == 1
    assert not ControlEvent.objects.exists()


def test_a_backfill_makes_what_is_missing_once(visitor: Visitor, page_url: PageUrl) -> None:
    client, url = visitor("backfill_schedule"), page_url("schedulestate_backfill", row("rates").pk)
    answer = send(client, url, reason="outage", spread="1h")
    assert answer.status_code == 302
    assert "5 jobs were made" in str([str(message) for message in get_messages(answer.wsgi_request)])
    slots = set(Job.objects.values_list("slot_at", flat=True))
    assert slots == {T - timedelta(hours=hours) for hours in range(6)}
    assert Job.objects.filter(run_at__gt=T + timedelta(minutes=30)).count() == 2
    event = ControlEvent.objects.get()
    assert (event.action, event.reason, event.detail["jobs"]) == ("backfill", "outage", 5)
    send(client, url)
    assert Job.objects.count() == 6


def test_a_dry_run_says_when_there_is_more_than_may_be_made(visitor: Visitor, page_url: PageUrl) -> None:
    url = page_url("schedulestate_backfill", row("rates").pk)
    answer = send(visitor("backfill_schedule"), url, preview="1", most="2")
    assert (answer.context["found"].made, answer.context["found"].is_capped) == (2, True)
    assert "another backfill makes the rest" in answer.content.decode()


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"start": "2026-01-01T08:00"}, "start"),
        ({"start": "1950-01-01T08:00"}, "start"),
        ({"end": "2026-02-01T08:00"}, "end"),
        ({"most": "0"}, "most"),
        ({"spread": "a while"}, "spread"),
    ],
)
def test_what_cannot_be_used_is_told_at_its_field(
    visitor: Visitor, page_url: PageUrl, data: dict[str, str], field: str
) -> None:
    for extra in ({}, {"preview": "1"}):
        answer = send(
            visitor("backfill_schedule"), page_url("schedulestate_backfill", row("rates").pk), **data, **extra
        )
        assert list(answer.context["form"].errors) == [field]
    assert Job.objects.count() == 1


def test_all_of_a_filter_are_backfilled(visitor: Visitor, page_url: PageUrl) -> None:
    for subject in ("a", "b"):
        ScheduleState.objects.create(job_type="rates", subject=subject, interval_seconds=3600, next_run_at=T)
    client, url = visitor("backfill_schedule"), page_url("schedulestate_bulk_backfill")
    answer = send(client, url, job_type="rates", preview="1")
    assert (answer.context["found"].made, len(answer.context["found"].moved)) == (17, 3)
    assert len(answer.context["found"].first) == 10
    send(client, url, subject="a")
    assert set(Job.objects.values_list("subject", flat=True)) == {"", "a"}
