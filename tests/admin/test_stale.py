"""The page of stale runs: what stands still and why, what would become of it, and moving it on."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.recover import recover
from jobs_app.models import ControlEvent, Job, JobRun
from jobs_app.presets import PRESETS
from tests.admin.conftest import Visitor
from tests.admin.filling import filled_in
from tests.lifecycle.rows import one_running, stored

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def by_people_alone(settings: Any) -> None:
    settings.JOBS = {"AUTO_RECOVER": False}


@pytest.fixture
def url(page_url: PageUrl) -> str:
    return page_url("dashboard_stale")


def alive(worker: str = "worker-1") -> None:
    announce(connection, Presence(id=worker, name="mailer", queues=["default"], job_types=["work"]))


def change(run: Any, **columns: Any) -> Any:
    Job.objects.filter(pk=run.id).update(**columns)
    return run


def expired(**columns: Any) -> Any:
    return change(one_running(**columns), lease_expires_at=datetime.now(UTC) - HOUR)


def lost() -> Any:
    return change(one_running(), worker_id="gone", lease_expires_at=datetime.now(UTC) + HOUR)


def stuck() -> Any:
    """Its worker is alive and keeps its lease, and for longer than its preset allows nothing has moved."""
    job(name="work", preset=next(name for name, preset in PRESETS.items() if preset.stale_after))(lambda: None)
    alive()
    long_ago = datetime.now(UTC) - 24 * HOUR
    return change(
        one_running(), started_at=long_ago, last_progress_at=long_ago, lease_expires_at=datetime.now(UTC) + HOUR
    )


def unserved() -> Any:
    [run_id] = stored(queue="nobodys")
    Job.objects.filter(pk=run_id).update(run_at=datetime.now(UTC) - HOUR)
    return run_id


def text(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def section(page: str, kind: str) -> str:
    found = re.search(rf'aria-labelledby="stale-{kind}"(.*?)</section>', page, re.DOTALL)
    assert found
    return re.sub(r"\s+", " ", found[1])


def test_where_nothing_stands_still_it_says_so_and_when_it_was_looked(visitor: Visitor, url: str) -> None:
    page = text(visitor(), url)
    assert "No run stands still." in page
    assert "last check:" in page
    assert "Nothing had to be done." in page


@pytest.mark.spec("S1.R8")
def test_a_run_without_progress_under_a_worker_that_is_alive_is_stuck(
    visitor: Visitor, url: str, page_url: PageUrl
) -> None:
    run = stuck()
    found = section(text(visitor(), url), "stuck")
    assert page_url("run_detail", run.id) in found
    assert page_url("workerstate_detail", "worker-1") in found
    for told in ("Stuck (1)", "mailer", "no progress for 1440min", "fails"):
        assert told in found


def test_each_kind_tells_why_and_what_would_become_of_it(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    alive()
    again, over, silent, waiting = expired(), expired(max_attempts=1), lost(), unserved()
    page = text(visitor(), url)
    assert "4 runs stand still." in page
    first = section(page, "expired")
    assert "Expired (2)" in first
    assert all(str(run.id) in first for run in (again, over))
    for told in ("waits again", "attempt 1 of 5 was lost", "fails", "lease: expired", "moves them on by itself"):
        assert told in first
    second = section(page, "lost")
    assert (str(silent.id) in second, "Worker crashed or timed out" in second) == (True, True)
    assert "leaves them to people" in second
    third = section(page, "unserved")
    assert page_url("run_detail", waiting) in third
    assert "manage.py runworker --queues nobodys" in third
    assert 'type="checkbox"' not in third


def test_who_may_only_look_has_nothing_to_press(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    alive()
    expired()
    page = text(visitor(), url)
    assert "checkbox" not in section(page, "expired")
    assert page_url("dashboard_reconcile") not in page
    assert visitor().post(page_url("dashboard_reconcile"), {"kind": "expired"}).status_code == 403


def test_all_of_a_kind_are_moved_after_a_look(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    alive()
    runs, other = [expired(), expired()], lost()
    client = visitor("reconcile_runs", "fail_run")
    reconcile = page_url("dashboard_reconcile")
    assert f"{reconcile}?kind=expired&amp;next=" in text(client, url)
    asked = text(client, f"{reconcile}?kind=expired")
    assert re.search(r"<strong>2</strong>\s*runs would be moved on", asked)
    assert all(str(run.id) in asked for run in runs)
    assert set(Job.objects.values_list("state", flat=True)) == {"running"}
    answer = client.post(reconcile, filled_in(asked) | {"reason": "3 a.m."}, follow=True)
    assert "2 moved on." in answer.content.decode()
    assert {run.pk for run in Job.objects.filter(state="queued")} == {run.id for run in runs}
    assert Job.objects.get(pk=other.id).state == "running"
    event = ControlEvent.objects.get()
    assert (event.action, event.reason, event.moved, event.skipped) == ("reconcile", "3 a.m.", 2, 0)
    assert LogEntry.objects.count() == 1


@pytest.mark.spec("S1.R8")
def test_chosen_runs_are_shown_first_and_moved_then(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    alive()
    chosen, left, silent = expired(), expired(), lost()
    client, reconcile = visitor("reconcile_runs", "fail_run"), page_url("dashboard_reconcile")
    ids = [str(chosen.id), str(silent.id)]
    asked = client.post(reconcile, {"run": ids, "preview": "1"}).content.decode()
    assert re.search(r"<strong>2</strong>\s*runs would be moved on", asked)
    assert not ControlEvent.objects.exists()
    sent = filled_in(asked)
    assert sorted(sent["run"]) == sorted(ids)
    client.post(reconcile, sent)
    assert {run.pk for run in Job.objects.filter(state="queued")} == {chosen.id, silent.id}
    assert Job.objects.get(pk=left.id).state == "running"


def test_what_stands_still_no_more_is_told_and_left_alone(visitor: Visitor, page_url: PageUrl) -> None:
    alive()
    run = expired()
    client, reconcile = visitor("reconcile_runs"), page_url("dashboard_reconcile")
    change(run, lease_expires_at=datetime.now(UTC) + HOUR)
    asked = client.post(reconcile, {"run": [str(run.id)], "preview": "1"}).content.decode()
    assert "1 of those you chose stands still no more." in asked
    answer = client.post(reconcile, {"run": [str(run.id)]}, follow=True)
    assert "1 was skipped: stands still no more." in answer.content.decode()
    assert Job.objects.get().state == "running"


def test_what_fails_needs_the_permission_to_fail(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    alive()
    run = expired(max_attempts=1)
    client = visitor("reconcile_runs")
    assert "you may not mark runs as failed" in text(client, url)
    answer = client.post(page_url("dashboard_reconcile"), {"run": [str(run.id)]}, follow=True)
    assert "needs the permission jobs_app.fail_run" in answer.content.decode()
    assert not JobRun.objects.exists()


@pytest.mark.parametrize("data", [{}, {"kind": "unserved"}, {"kind": "x"}, {"run": ["x"]}, {"run": [""]}])
def test_a_wish_that_means_nothing_is_refused(visitor: Visitor, page_url: PageUrl, data: dict[str, Any]) -> None:
    alive()
    expired()
    answer = visitor("reconcile_runs").post(page_url("dashboard_reconcile"), data)
    assert answer.status_code == 200
    assert "Nothing was changed" in answer.content.decode()
    assert not ControlEvent.objects.exists()


def test_what_was_done_without_a_person_is_listed(visitor: Visitor, url: str, page_url: PageUrl, settings: Any) -> None:
    settings.JOBS = {}
    run = expired()
    recover(connection)
    ControlEvent.objects.create(actor="jobs.reconcile", action="reconcile", target="7 runs", moved=7)
    ControlEvent.objects.create(actor="ann", action="reconcile", target="9 runs", moved=9)
    found = section(text(visitor(), url), "automatic")
    assert page_url("run_detail", run.id) in found
    assert "Worker crashed or timed out" in found
    assert ("7 runs" in found, "9 runs" in found) == (True, False)


def test_the_number_of_queries_does_not_depend_on_how_many_stand_still(visitor: Visitor, url: str) -> None:
    alive()
    expired()
    client = visitor(everything=True)
    client.get(url)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            text(client, url)
        return len(captured)

    few = queries()
    for _ in range(12):
        expired()
        lost()
    assert queries() == few
