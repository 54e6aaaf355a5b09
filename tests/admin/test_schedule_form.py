"""Schedules are added and changed from the admin, with a preview of what that means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from jobs_app import job
from jobs_app.models import ControlEvent, ScheduleState
from jobs_app.scheduler.sync import sync_declared
from tests.admin.conftest import Visitor
from tests.lifecycle.planned import add, define_types, row
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
BERLIN = {"kind": "cron", "value": "30 2 * * *", "timezone": "Europe/Berlin"}


@pytest.fixture(autouse=True)
def world() -> None:
    define_types()


@pytest.fixture
def operator(visitor: Visitor) -> Client:
    return visitor("add_schedulestate", "change_schedulestate", "view_payload")


def send(client: Client, url: str, seconds: float = 60, **data: Any) -> Any:
    with at(seconds):
        return client.post(url, data)


def problems(answer: HttpResponse) -> dict[str, Any]:
    assert answer.status_code == 200
    return dict(answer.context["form"].errors)  # type: ignore[attr-defined]


def filled(client: Client, url: str, **changes: Any) -> dict[str, Any]:
    """The form as it comes, with something typed over."""
    form = client.get(url).context["form"]
    shown = {field.name: field.value() for field in form if field.value() is not None}
    return shown | changes


def test_a_schedule_is_added_and_comes_back_from_then_on(operator: Client, page_url: PageUrl) -> None:
    data = {"job_type": "report", "subject": "a/b", "name": "nightly", "payload": '{"n": 3}', "reason": "they asked"}
    answer = send(operator, page_url("schedulestate_add"), **data, **BERLIN)
    made = row("report")
    assert answer["Location"] == page_url("schedulestate_detail", made.pk)
    assert (made.subject, made.name, made.cron, made.timezone) == ("a/b", "nightly", "30 2 * * *", "Europe/Berlin")
    assert (made.payload, made.origin, made.next_run_at) == ({"n": 3}, "admin", T.replace(day=2, hour=1, minute=30))
    event = ControlEvent.objects.get()
    assert (event.action, event.target, event.reason) == ("add", "report a/b nightly", "they asked")
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "value", "zone", "column", "expected"),
    [
        ("every", "15m", "", "interval_seconds", 900),
        ("every", "90", "", "interval_seconds", 90),
        ("per_hour", "4", "", "interval_seconds", 900),
        ("cron", "0 9 * * mon-fri", "", "cron", "0 9 * * mon-fri"),
        ("at", "2026-07-01 09:00", "Europe/Berlin", "once_at", T.replace(month=7, hour=7)),
        ("at", "2026-07-01T09:00:00+00:00", "", "once_at", T.replace(month=7, hour=9)),
    ],
)
def test_it_comes_every_so_often_so_many_an_hour_by_cron_or_once(
    operator: Client, page_url: PageUrl, kind: str, value: str, zone: str, column: str, expected: Any
) -> None:
    send(operator, page_url("schedulestate_add"), job_type="report", kind=kind, value=value, timezone=zone)
    assert getattr(row("report"), column) == expected


@pytest.mark.parametrize(
    ("data", "field", "told"),
    [
        ({"kind": "every", "value": "soon"}, "value", "30s"),
        ({"kind": "every", "value": "0"}, "value", "above 0"),
        ({"kind": "per_hour", "value": "many"}, "value", "a number from"),
        ({"kind": "cron", "value": "every day"}, "value", "five fields"),
        ({"kind": "cron", "value": "0 0 30 2 *"}, "value", "days that exist"),
        ({"kind": "cron", "value": "0 9 * * *", "timezone": "Europe/Atlantis"}, "timezone", "time zone"),
        ({"kind": "at", "value": "tomorrow"}, "value", "a date and a time"),
        ({"kind": "at", "value": "2020-01-01 09:00"}, "value", "has passed"),
        ({"kind": "every", "value": "1h", "payload": "{"}, "payload", "not JSON"),
        ({"kind": "every", "value": "1h", "payload": "[1]"}, "payload", "JSON object"),
        ({"kind": "every", "value": "1h", "payload": '{"m": 1}'}, "payload", "m: is unknown"),
        ({"kind": "every", "value": "1h", "payload": '{"n": "many"}'}, "payload", "n: "),
        ({"kind": "every", "value": "1h", "spread": "soon"}, "spread", "Use a time"),
        ({"kind": "every", "value": "1h", "catch_up_max": "0"}, "catch_up_max", "1"),
        ({"kind": "every", "value": "1h", "name": "no spaces"}, "name", "letters"),
        ({"kind": "every", "value": "1h", "subject": "a\u0007b"}, "subject", "control characters"),
    ],
)
def test_what_cannot_be_used_is_told_at_its_field_and_nothing_is_stored(
    operator: Client, page_url: PageUrl, data: dict[str, str], field: str, told: str
) -> None:
    found = problems(send(operator, page_url("schedulestate_add"), job_type="report", **data))
    assert list(found) == [field]
    assert told in str(found[field])
    assert not ScheduleState.objects.filter(job_type="report").exists()
    assert not ControlEvent.objects.exists()


def test_a_second_schedule_needs_a_name(operator: Client, page_url: PageUrl) -> None:
    data = {"job_type": "report", "kind": "every", "value": "1h"}
    send(operator, page_url("schedulestate_add"), **data)
    assert "another name" in str(problems(send(operator, page_url("schedulestate_add"), **data))["name"])
    send(operator, page_url("schedulestate_add"), **data, name="second")
    assert ScheduleState.objects.filter(job_type="report").count() == 2


def test_job_types_are_offered_to_those_who_may_plan_them(visitor: Visitor, page_url: PageUrl) -> None:
    def offered(*codenames: str) -> set[str]:
        answer = visitor("add_schedulestate", *codenames).get(page_url("schedulestate_add"))
        return {name for name, _ in answer.context["form"].fields["job_type"].choices}

    assert offered() == {"rates", "report"}
    assert offered("add_job") == {"rates", "report", "books"}
    data = {"job_type": "books", "kind": "every", "value": "1h"}
    assert "job_type" in problems(send(visitor("add_schedulestate"), page_url("schedulestate_add"), **data))
    assert not ScheduleState.objects.filter(job_type="books").exists()


@pytest.mark.parametrize(
    ("moment", "first", "yours", "note"),
    [
        (
            T.replace(month=10, day=24),
            "Sun 10/25/2026 02:30:00 CEST",
            "10/24/2026 19:30:00 CDT",
            "clocks go back: 02:30 comes twice, the first time counts",
        ),
        (
            T.replace(month=3, day=28),
            "Sun 03/29/2026 03:00:00 CEST",
            "03/28/2026 20:00:00 CDT",
            "02:30 does not exist on this day: runs at the shift",
        ),
    ],
)
def test_the_preview_tells_the_rule_and_ten_slots_on_both_clocks_across_a_change(
    operator: Client, page_url: PageUrl, moment: Any, first: str, yours: str, note: str
) -> None:
    seconds = (moment - T).total_seconds()
    answer = send(operator, page_url("schedulestate_add"), seconds, job_type="report", preview="1", **BERLIN)
    page = answer.content.decode()
    assert len(answer.context["slots"]) == 10
    for told in ("every day at 02:30", "Europe/Berlin", "= 0.04 runs/h", first, yours, note):
        assert told in page
    assert page.count('class="jobs-note"') == 1
    assert not ScheduleState.objects.filter(job_type="report").exists()


def test_the_preview_of_an_interval_tells_how_many_an_hour(operator: Client, page_url: PageUrl) -> None:
    data = {"job_type": "report", "kind": "per_hour", "value": "12", "preview": "1"}
    answer = send(operator, page_url("schedulestate_add"), 0, **data)
    assert "every 5 minutes" in answer.content.decode()
    assert answer.context["per_hour"] == 12
    assert [slot.at for slot in answer.context["slots"][:2]] == [T, T + timedelta(minutes=5)]


def test_what_is_wrong_is_told_in_the_preview_too(operator: Client, page_url: PageUrl) -> None:
    answer = send(operator, page_url("schedulestate_add"), job_type="report", kind="cron", value="x", preview="1")
    preview = answer.content.decode().partition('id="jobs-preview"')[2].partition("jobs-toolbar")[0]
    assert "five fields" in preview


def test_only_what_was_changed_is_overridden(operator: Client, page_url: PageUrl) -> None:
    url = page_url("schedulestate_edit", row("rates").pk)
    send(operator, url, **filled(operator, url, jitter="30s", reason="calmer"))
    rates = row("rates")
    assert rates.overrides == {"jitter_seconds": 30.0}
    assert (rates.interval_seconds, rates.spread_seconds) == (3600, 60)
    event = ControlEvent.objects.get()
    assert (event.action, event.reason) == ("change", "calmer")
    assert event.detail == {"changed": {"jitter_seconds": {"from": 0.0, "to": 30.0}}}


def test_a_form_sent_as_it_came_changes_nothing_and_says_so(operator: Client, page_url: PageUrl) -> None:
    add(every=5400.5, catch_up_window="6h", payload={"n": 3, "token": "hush"})
    add(name="cron", cron="0  9 * * MON", timezone="Europe/Berlin")
    add(name="once", at=T + timedelta(days=200, microseconds=7))
    for schedule in ScheduleState.objects.all():
        url = page_url("schedulestate_edit", schedule.pk)
        found = problems(send(operator, url, **filled(operator, url)))
        assert "Nothing was changed" in str(found["__all__"])
    assert not ControlEvent.objects.filter(action="change").exists()


def test_another_interval_counts_from_the_slot_that_is_next_anyway(operator: Client, page_url: PageUrl) -> None:
    url = page_url("schedulestate_edit", row("rates").pk)
    data = filled(operator, url, value="30m")
    shown = send(operator, url, **data, preview="1").context["slots"]
    send(operator, url, **data)
    assert row("rates").next_run_at == shown[0].at == T + timedelta(hours=1)
    assert (shown[1].at, row("rates").interval_seconds) == (T + timedelta(minutes=90), 1800)


def test_an_emptied_field_is_as_usual_again(operator: Client, page_url: PageUrl) -> None:
    add(every=60, catch_up="skip", jitter=30, catch_up_window="1h")
    url = page_url("schedulestate_edit", row("report").pk)
    send(operator, url, **filled(operator, url, catch_up="", jitter="", catch_up_window=""))
    report = row("report")
    assert (report.catch_up, report.jitter_seconds, report.catch_up_window_seconds) == ("once", 0, None)


def test_secrets_are_hidden_and_stay_where_nobody_types_others(operator: Client, page_url: PageUrl) -> None:
    add(every=60, payload={"n": 3, "token": "hush"})
    url = page_url("schedulestate_edit", row("report").pk)
    page = operator.get(url).content.decode()
    assert "hush" not in page
    assert "[hidden]" in page
    send(operator, url, **filled(operator, url, payload='{"n": 4, "token": "[hidden]"}'))
    assert (row("report").payload["n"], row("report").payload["token"]) == (4, "hush")
    send(operator, url, **filled(operator, url, payload='{"n": 4, "token": "new"}'))
    assert row("report").payload["token"] == "new"


def test_who_may_not_see_payloads_changes_the_rest(visitor: Visitor, page_url: PageUrl) -> None:
    add(every=60, payload={"n": 3})
    client, url = visitor("change_schedulestate"), page_url("schedulestate_edit", row("report").pk)
    assert "payload" not in client.get(url).context["form"].fields
    send(client, url, **filled(client, url, value="2m"))
    assert (row("report").interval_seconds, row("report").payload["n"]) == (120, 3)


def test_what_an_operator_changed_outlives_a_sync(operator: Client, page_url: PageUrl) -> None:
    url = page_url("schedulestate_edit", row("rates").pk)
    send(operator, url, **filled(operator, url, kind="cron", value="*/10 * * * *", timezone="UTC"))
    with at(120):
        sync_declared(connection)
    assert (row("rates").cron, row("rates").interval_seconds) == ("*/10 * * * *", None)


def test_zones_are_offered_and_the_link_fills_in_the_job_type(operator: Client, page_url: PageUrl) -> None:
    job(name="more")(lambda: None)
    page = operator.get(page_url("schedulestate_add"), {"job_type": "more", "subject": "<a>"}).content.decode()
    assert '<option value="Europe/Berlin">' in page
    assert '<option value="more" selected>' in page
    assert 'value="&lt;a&gt;"' in page
