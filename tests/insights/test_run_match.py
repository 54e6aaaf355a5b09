"""Every filter finds the runs that it means, live and finished, and no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from tests.insights.run_rows import ago, attempt, ended, running, waiting
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

A, B = UUID(int=10), UUID(int=11)
YESTERDAY = ago(hours=25)


def found(chosen: RunFilter) -> set[str]:
    """By the subjects of the runs, which the tests use as names."""
    with at(0):
        page = run_list.page(connection, chosen)
        assert run_list.count(connection, chosen) == run_list.Counted(len(page.runs))
    assert (page.older, page.newer, page.searched_to, page.is_cut) == (None, None, None, False)
    return {run.subject for run in page.runs}


@pytest.fixture
def one_of_each() -> None:
    waiting(ago(hours=3), subject="queued")
    waiting(ago(hours=3), subject="scheduled", run_at=T + timedelta(hours=1))
    retrying = waiting(ago(hours=3), subject="retrying", attempts=2, run_at=T + timedelta(hours=1), last_error="late")
    attempt(retrying, 2, "app.Busy")
    running(ago(hours=3), subject="running")
    ended(ago(hours=3), "succeeded", subject="succeeded")
    ended(ago(hours=3), "failed", subject="failed", error="no answer from 10.0.0.1", error_class="app.errors.Timeout")
    ended(ago(hours=3), "cancelled", subject="cancelled")
    waiting(YESTERDAY, subject="old queued")
    ended(YESTERDAY, "failed", subject="old failed")
    waiting(ago(hours=3), subject="chore", queue="jobs.system", job_type="jobs.prune")
    ended(ago(hours=3), subject="ended chore", queue="jobs.system", job_type="jobs.prune")


WAITING = {"queued", "old queued", "scheduled", "retrying"}


@pytest.mark.spec("S2.28")
@pytest.mark.spec("S4.26")
@pytest.mark.usefixtures("one_of_each")
@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ({}, {"queued", "scheduled", "retrying", "running", "succeeded", "failed", "cancelled"}),
        ({"window": "1h"}, set()),
        ({"state": "queued"}, {"queued", "old queued"}),
        ({"state": "queued", "window": "24h"}, {"queued"}),
        ({"state": "scheduled"}, {"scheduled"}),
        ({"state": "retrying"}, {"retrying"}),
        ({"state": "running"}, {"running"}),
        ({"state": "waiting"}, WAITING),
        ({"state": "waiting", "order": "due"}, WAITING),
        ({"order": "due"}, {"queued", "scheduled", "retrying", "running"}),
        ({"state": "live"}, WAITING | {"running"}),
        ({"state": "succeeded"}, {"succeeded"}),
        ({"state": "failed"}, {"failed"}),
        ({"state": "failed", "window": "all"}, {"failed", "old failed"}),
        ({"state": "cancelled"}, {"cancelled"}),
        ({"state": "finished"}, {"succeeded", "failed", "cancelled"}),
        ({"since": YESTERDAY.isoformat(), "until": ago(hours=4).isoformat()}, {"old queued", "old failed"}),
        ({"until": YESTERDAY.isoformat()}, set()),
        ({"queue": "jobs.system"}, {"chore", "ended chore"}),
        ({"job_type": "jobs.prune"}, {"chore", "ended chore"}),
        ({"error": "app.errors.Timeout"}, {"failed"}),
        ({"error": "Timeout"}, {"failed"}),
        ({"error": "=Timeout"}, set()),
        ({"error": "out"}, set()),
        ({"error": "Busy"}, {"retrying"}),
        ({"error": "-", "state": "failed", "window": "all"}, {"old failed"}),
        ({"q": "ANSWER from"}, {"failed"}),
        ({"q": "late"}, {"retrying"}),
        ({"q": "cancel"}, {"cancelled"}),
        ({"q": "100%"}, set()),
        ({"subject": "failed"}, {"failed"}),
        ({"subject": "retrying"}, {"retrying"}),
        ({"q": "subject:failed state:succeeded"}, set()),
        ({"attempts": "more"}, {"retrying"}),
    ],
)
def test_a_filter_finds_what_it_says(query: dict[str, str], subjects: set[str]) -> None:
    assert found(RunFilter.from_query(query)) == subjects


COLUMNS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("queue", {"queue": "mail"}, {"queue": "mail"}),
    ("job_type", {"job_type": "report"}, {"job_type": "report"}),
    ("worker", {"worker_id": "w7"}, {"worker": "w7"}),
    ("schedule", {"schedule": 7}, {"schedule": 7}),
    ("parent", {"parent": A}, {"parent": A}),
    ("attempts", {"attempts": 2}, {"attempts": "more"}),
    ("payload", {"payload": {"month": "2026-01"}}, {"q": "payload.month:2026-01"}),
    ("number", {"payload": {"n": 7}}, {"q": "payload.n:7"}),
    ("flag", {"payload": {"dry": True}}, {"q": "payload.dry:true"}),
    ("inside", {"payload": {"a": {"b": "x y"}}}, {"q": 'payload.a.b:"x y"'}),
]


@pytest.mark.spec("S2.28")
@pytest.mark.parametrize("make", [running, ended])
@pytest.mark.parametrize(("columns", "chosen"), [case[1:] for case in COLUMNS], ids=[case[0] for case in COLUMNS])
def test_each_filter_tells_one_run_from_another(
    make: Callable[..., UUID], columns: dict[str, Any], chosen: dict[str, Any]
) -> None:
    make(subject="this", **columns)
    make(subject="other", payload={"month": "2026-02", "n": 70, "dry": False, "a": {"b": "x"}})
    assert found(RunFilter(**chosen)) == {"this"}


def test_a_run_is_found_by_its_id_however_old_and_whatever_it_is() -> None:
    live, finished = waiting(YESTERDAY, subject="live"), ended(YESTERDAY, subject="ended", queue="jobs.system")
    assert found(RunFilter(q=str(live))) == {"live"}
    assert found(RunFilter(q=finished.hex)) == {"ended"}
    assert found(RunFilter(q=str(A))) == set()


def test_how_long_a_run_took_is_that_of_its_last_attempt_and_of_what_runs_until_now() -> None:
    ended(subject="a minute")
    ended(subject="longer", finished_at=T + timedelta(seconds=60.5))
    ended(subject="never started", started_at=None)
    running(subject="runs", started_at=ago(seconds=90))
    waiting(subject="waits", started_at=ago(hours=2), attempts=1)
    assert found(RunFilter(longer=60)) == {"a minute", "longer", "runs"}
    assert found(RunFilter(longer=60.4)) == {"longer", "runs"}
    assert found(RunFilter(longer=91)) == set()


def test_what_was_run_again_is_not_open_whether_the_new_run_is_live_or_has_ended() -> None:
    again, once_more = ended(state="failed", subject="again"), ended(state="failed", subject="once more")
    ended(state="failed", subject="open")
    ended(state="cancelled", subject="cancelled")
    waiting(parent=again, subject="new")
    ended(state="failed", parent=once_more, subject="failed anew")
    assert found(RunFilter(open=True)) == {"open", "failed anew"}
    assert found(RunFilter(open=True, state="failed", job_type="work")) == {"open", "failed anew"}
    assert found(RunFilter(open=True, state="live")) == set()


@pytest.mark.parametrize("text", ["'; DROP TABLE x; --", '"', "\\", "%", "_", "a'b", "é\u202e"])
def test_any_text_can_be_searched_for(text: str) -> None:
    ended(subject=f"before {text} after")
    ended(subject="other")
    assert found(RunFilter(q=text)) == {f"before {text} after"}
    ended(payload={text: "x", "k": text}, subject="payload")
    assert found(RunFilter(subject=f"before {text} after")) == {f"before {text} after"}
