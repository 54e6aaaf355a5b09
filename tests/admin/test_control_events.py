"""The page of control events: read, filtered, exported, and never changed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs_app.insights import control_events as module
from jobs_app.models import ControlEvent
from tests.admin.conftest import Visitor

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]


@pytest.fixture
def url(page_url: PageUrl) -> str:
    return page_url("controlevent_changelist")


@pytest.fixture
def reader(visitor: Visitor) -> Client:
    return visitor("view_controlevent")


def event(**columns: Any) -> ControlEvent:
    given = {"actor": "ann", "action": "pause", "target_kind": "queue", "target": "mail", "reason": "too much"}
    return ControlEvent.objects.create(**given | columns)


def text(client: Client, url: str, **query: str) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def exported(client: Client, url: str, **query: str) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def actors(page: str) -> list[str]:
    return re.findall(r'data-label="Who"><a [^>]*>([^<]*)<', page)


def test_each_tells_who_what_when_why_and_how_many(reader: Client, url: str, page_url: PageUrl) -> None:
    event(moved=3, skipped=1, detail={"until": "2026-01-31", "api_token": "hush"})
    page = text(reader, url)
    for told in ("ann", "pause", "too much", page_url("queuestate_detail", "mail"), "2026-01-31"):
        assert told in page
    assert "hush" not in page
    assert "[hidden]" in page
    assert re.search(r'data-label="Moved"[^>]*>3<.*data-label="Skipped"[^>]*>1<', page, re.DOTALL)


@pytest.mark.parametrize(
    ("kind", "target", "page", "arguments"),
    [
        ("run", "019b0000-0000-7000-8000-000000000000", "run_detail", ["019b0000-0000-7000-8000-000000000000"]),
        ("job_type", "sync", "jobdefinition_detail", ["sync"]),
        ("subject", "acme/1", "subject_detail", ["acme/1"]),
        ("worker", "web-1-7", "workerstate_detail", ["web-1-7"]),
        ("workers", "all", "workerstate_changelist", []),
        ("schedule", "sync acme", "schedulestate_changelist", []),
        ("all", "", "dashboard_changelist", []),
        ("window", "nightly", "maintenancewindow_changelist", []),
        ("setting", "LEASE_SECONDS", "runtimesetting_changelist", []),
    ],
)
def test_targets_are_links(
    reader: Client, url: str, page_url: PageUrl, kind: str, target: str, page: str, arguments: list[str]
) -> None:
    event(target_kind=kind, target=target)
    assert f'<a href="{page_url(page, *arguments)}">{target or "everything"}</a>' in text(reader, url)


@pytest.mark.parametrize(("kind", "target"), [("run", "no uuid"), ("runs", "3 runs"), ("unheard of", "x"), ("", "")])
def test_a_target_without_a_page_is_text(reader: Client, url: str, kind: str, target: str) -> None:
    event(target_kind=kind, target=target)
    assert target in text(reader, url)


def test_filters_are_kept_from_page_to_page(reader: Client, url: str) -> None:
    for number in range(module.PER_PAGE + 5):
        event(actor="bob" if number % 2 else "ann", target=str(number))
    for number in range(module.PER_PAGE):
        event(actor="bob", target=f"more {number}")
    first = text(reader, url, actor="bob")
    assert actors(first) == ["bob"] * module.PER_PAGE
    [older] = re.findall(r'href="([^"]*)">Older<', first)
    second = text(reader, older.replace("&amp;", "&"))
    assert set(actors(second)) == {"bob"}
    assert len(actors(second)) == (module.PER_PAGE + 5) // 2
    [newer] = re.findall(r'href="([^"]*)">Newer<', second)
    assert actors(text(reader, newer.replace("&amp;", "&"))) == actors(first)


def test_empty_says_which_empty_it_is(reader: Client, url: str) -> None:
    assert "Nobody has done anything yet" in text(reader, url)
    assert "No event is like that" in text(reader, url, actor="nobody")


def test_a_filter_that_cannot_be_read_is_told_and_the_others_hold(reader: Client, url: str) -> None:
    event(actor="ann"), event(actor="bob")
    page = text(reader, url, since="yesterday", actor="bob")
    assert "cannot be used, and was left out" in page
    assert actors(page) == ["bob"]


@pytest.mark.parametrize("query", [{"older": "x"}, {"newer": "9" * 50}, {"older": "1.1", "newer": "1.1"}])
def test_a_place_that_is_none_does_no_harm(reader: Client, url: str, query: dict[str, str]) -> None:
    event()
    text(reader, url, **query)


def test_lines_of_json_have_everything_but_secrets(reader: Client, page_url: PageUrl) -> None:
    event(detail={"password": "hush", "n": 2**60}), event(actor="bob", reason="日本\x07")
    lines = exported(reader, page_url("controlevent_export"), format="jsonl").splitlines()
    newest, oldest = (json.loads(line) for line in lines)
    assert (newest["actor"], newest["reason"]) == ("bob", "日本\x07")
    assert oldest["detail"] == {"password": "[hidden]", "n": 2**60}


def test_a_table_is_exported_as_the_list_is_filtered_and_computes_nothing(reader: Client, page_url: PageUrl) -> None:
    event(actor="bob", reason="=1+1", detail={"a": [1]}), event(actor="ann")
    rows = list(
        csv.DictReader(io.StringIO(exported(reader, page_url("controlevent_export"), format="csv", actor="bob")))
    )
    assert [(row["actor"], row["reason"], row["detail"]) for row in rows] == [("bob", "'=1+1", '{"a": [1]}')]


def test_an_export_is_capped(reader: Client, page_url: PageUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.each, "__kwdefaults__", {"most": 3})
    for _ in range(5):
        event()
    assert len(exported(reader, page_url("controlevent_export"), format="jsonl").splitlines()) == 3


@pytest.mark.parametrize("query", [{"format": "xml"}, {"since": "yesterday"}])
def test_what_cannot_be_meant_exports_nothing(reader: Client, page_url: PageUrl, query: dict[str, str]) -> None:
    event()
    answer = reader.get(page_url("controlevent_export"), query)
    assert (answer.status_code, "cannot be exported" in answer.content.decode()) == (400, True)


@pytest.mark.parametrize("page", ["controlevent_changelist", "controlevent_export"])
def test_it_has_a_permission_of_its_own_and_takes_no_post(visitor: Visitor, page_url: PageUrl, page: str) -> None:
    assert visitor().get(page_url(page)).status_code == 403
    assert visitor("view_controlevent", sees=False).get(page_url(page)).status_code == 403
    assert visitor("view_controlevent").post(page_url(page)).status_code == 405


def test_there_is_no_way_to_add_change_or_delete_one(visitor: Visitor) -> None:
    kept = event()
    client = visitor(everything=True)
    for path in ("add/", f"{kept.pk}/change/", f"{kept.pk}/delete/", f"{kept.pk}/"):
        assert client.get(f"/admin/jobs_app/controlevent/{path}").status_code == 404
        assert client.post(f"/admin/jobs_app/controlevent/{path}").status_code == 404
    assert ControlEvent.objects.count() == 1


def test_whatever_was_stored_is_shown_as_text(reader: Client, url: str) -> None:
    hostile = "<script>alert(1)</script>"
    event(
        actor=hostile,
        action=hostile[:40],
        target_kind=hostile[:20],
        target=hostile,
        reason=hostile,
        detail={hostile: hostile},
    )
    assert "<script>alert" not in text(reader, url)


def test_the_number_of_queries_does_not_depend_on_how_many_there_are(reader: Client, url: str) -> None:
    event()
    reader.get(url)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            text(reader, url)
        return len(captured)

    few = queries()
    for _ in range(30):
        event()
    assert queries() == few
