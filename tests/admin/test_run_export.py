"""Runs as files: what the list has, secrets hidden, and nothing that a spreadsheet would compute."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from tests.insights.run_rows import ago, ended, waiting
from tests.lifecycle.rows import at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@pytest.fixture
def export(visitor: Callable[..., Client], page_url: Callable[..., str]) -> Callable[..., str]:
    def get(*codenames: str, **query: str) -> str:
        answer = visitor(*codenames).get(page_url("run_export"), query)
        assert answer.status_code == 200
        assert answer.streaming
        return answer.getvalue().decode()

    return get


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.spec("S2.28")
def test_both_kinds_have_what_the_list_has_in_its_order(export: Callable[..., str]) -> None:
    first = ended(ago(minutes=1), "failed", subject="acme", error="no", error_class="Timeout")
    second = waiting(ago(minutes=2), attempts=1)
    waiting(ago(days=2))
    ended(ago(minutes=1), queue="jobs.system")
    found = lines(export(format="jsonl"))
    assert [(row["id"], row["status"]) for row in found] == [(str(first), "failed"), (str(second), "retrying")]
    assert (found[0]["error_class"], found[0]["subject"], found[0]["error"]) == ("Timeout", "acme", "no")
    table = list(csv.DictReader(io.StringIO(export(format="csv"))))
    assert [row["id"] for row in table] == [str(first), str(second)]
    assert table[0]["queued_at"] == ago(minutes=1).isoformat()
    assert [row["id"] for row in lines(export(format="jsonl", state="failed"))] == [str(first)]


def test_payloads_are_for_who_may_see_them_and_secrets_for_nobody(export: Callable[..., str]) -> None:
    payload = {"month": "2026-01", "api_token": "hunter2", "inner": {"password": "hunter2"}}
    ended(payload=payload, meta=payload, result=payload)
    for kind in ("csv", "jsonl"):
        plain, full = export(format=kind), export("view_payload", format=kind)
        assert "2026-01" in full
        assert "month" not in plain
        assert "hunter2" not in plain + full
    [row] = lines(export("view_payload", format="jsonl"))
    assert row["payload"] == {"month": "2026-01", "api_token": "[hidden]", "inner": {"password": "[hidden]"}}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1"])
def test_no_cell_is_a_formula(text: str, export: Callable[..., str]) -> None:
    ended(subject=text)
    [row] = csv.DictReader(io.StringIO(export(format="csv")))
    assert row["subject"] == f"'{text}"
    assert lines(export(format="jsonl"))[0]["subject"] == text


@pytest.mark.parametrize("query", [{"state": "dead"}, {"format": "xls"}, {"q": "payload.a:1"}])
def test_what_cannot_be_read_exports_nothing(
    query: dict[str, str], visitor: Callable[..., Client], page_url: Callable[..., str]
) -> None:
    ended(subject="acme")
    answer = visitor().get(page_url("run_export"), query)
    assert (answer.status_code, answer.streaming) == (400, False)
    assert "acme" not in answer.content.decode()


def test_it_is_read_part_by_part_and_ends_at_the_limit(
    export: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "EXPORT_SIZE", 2)
    ids = [str(ended(ago(seconds=number // 3))) for number in range(7)]
    found = [row["id"] for row in lines(export(format="jsonl"))]
    assert sorted(found) == sorted(ids)
    monkeypatch.setitem(run_list.each.__kwdefaults__, "most", 3)  # type: ignore[arg-type]
    assert [row["id"] for row in lines(export(format="jsonl"))] == found[:3]


def test_what_comes_while_it_is_written_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_list, "EXPORT_SIZE", 1)
    ids = [ended(ago(seconds=number)) for number in range(3)]
    found = run_list.each(connection, RunFilter(job_type="work"))
    first = next(found)
    with at(120):
        waiting(ago(seconds=-90))
        ended(ago(seconds=-90))
        assert [first.pk, *(run.pk for run in found)] == ids
