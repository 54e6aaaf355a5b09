"""What can be done with one run: the acts that its state and the person's permissions allow, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ControlEvent, Job, JobRun
from tests.admin.conftest import Visitor
from tests.by_hand import HandWorker
from tests.lifecycle.rows import at, outcomes_of, taken_ids

pytestmark = pytest.mark.django_db

VERBS = {
    "run_cancel": "cancel_run",
    "run_abort": "abort_run",
    "run_retry": "retry_run",
    "run_again": "retry_run",
    "run_fail": "fail_run",
    "run_requeue": "reconcile_runs",
}
Url = Callable[..., str]


@pytest.fixture
def work() -> Any:
    @job(name="work", max_attempts=3)
    def work(n: int = 0, fails: bool = False) -> int:
        if fails:
            raise ValueError("no")
        return n

    return work


@pytest.fixture
def ended(work: Any) -> Any:
    run = work.enqueue(n=7)
    HandWorker().work()
    return run


def running(work: Any, *, is_alive: bool) -> tuple[Any, HandWorker]:
    run, worker = work.enqueue(), HandWorker()
    if is_alive:
        announce(connection, Presence(id=worker.id, beat_seconds=10))
    [claimed] = worker.claim()
    assert claimed.id == run.id
    return run, worker


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def buttons(client: Any, page_url: Url, run: Any) -> set[str]:
    text = client.get(page_url("run_detail", run.id)).text
    found = {name for name in VERBS if f'href="{page_url(name, run.id)}?' in text}
    return found | ({"changes"} if f"/trigger/?again={run.id}" in text else set())


def test_what_waits_can_be_hurried_and_ended(visitor: Visitor, page_url: Url, work: Any) -> None:
    client = visitor(everything=True)
    due, later = work.enqueue(), work.options(delay=3600).enqueue()
    assert buttons(client, page_url, due) == {"run_cancel", "run_fail"}
    assert buttons(client, page_url, later) == {"run_retry", "run_cancel", "run_fail"}


def test_what_runs_can_be_stopped_and_requeued_only_where_its_worker_is_gone(
    visitor: Visitor, page_url: Url, work: Any
) -> None:
    client = visitor(everything=True)
    held, _ = running(work, is_alive=True)
    lost, _ = running(work, is_alive=False)
    assert buttons(client, page_url, held) == {"run_cancel", "run_abort", "run_fail"}
    assert buttons(client, page_url, lost) == {"run_cancel", "run_abort", "run_fail", "run_requeue"}
    client.post(page_url("run_cancel", held.id))
    assert buttons(client, page_url, held) == {"run_abort", "run_fail"}
    client.post(page_url("run_abort", held.id))
    assert buttons(client, page_url, held) == {"run_fail"}


def test_what_has_ended_can_be_run_again(visitor: Visitor, page_url: Url, ended: Any) -> None:
    assert buttons(visitor(everything=True), page_url, ended) == {"run_again", "changes"}


def test_what_nobody_knows_any_more_can_not(visitor: Visitor, page_url: Url, ended: Any) -> None:
    JobRun.objects.update(job_type="gone")
    assert buttons(visitor(everything=True), page_url, ended) == set()


def test_who_only_sees_has_no_button(visitor: Visitor, page_url: Url, work: Any, ended: Any) -> None:
    for run in (running(work, is_alive=False)[0], work.enqueue(), ended):
        assert buttons(visitor("view_payload", "view_log"), page_url, run) == set()


@pytest.mark.parametrize("name", VERBS)
def test_each_act_needs_its_own_permission(visitor: Visitor, page_url: Url, work: Any, name: str) -> None:
    run = work.options(delay=3600).enqueue()
    others = visitor(*(set(VERBS.values()) - {VERBS[name]}))
    for method in (others.get, others.post):
        assert method(page_url(name, run.id), {"reason": "x"}).status_code == 403
    assert not ControlEvent.objects.exists()
    assert visitor(VERBS[name]).get(page_url(name, run.id)).status_code == 200
    assert not ControlEvent.objects.exists()  # to ask changes nothing


def test_a_run_that_waits_is_cancelled(visitor: Visitor, page_url: Url, work: Any) -> None:
    run = work.enqueue()
    answer = visitor("cancel_run").post(page_url("run_cancel", run.id), {"reason": "not needed"})
    assert answer["Location"] == page_url("run_detail", run.id)
    assert "1 cancelled." in told(answer)
    found, event = JobRun.objects.get(), ControlEvent.objects.get()
    assert (found.state, found.error) == ("cancelled", "not needed")
    assert (event.action, event.target, event.reason, event.moved) == ("cancel", str(run.id), "not needed", 1)
    assert LogEntry.objects.get().object_id == str(run.id)


def test_a_run_that_runs_is_asked_to_stop_and_goes_on_until_it_notices(
    visitor: Visitor, page_url: Url, work: Any
) -> None:
    run, _ = running(work, is_alive=True)
    answer = visitor("abort_run").post(page_url("run_abort", run.id))
    assert "1 runs on until it notices." in told(answer)
    found = Job.objects.get()
    assert (found.state, found.cancel_requested, found.abort_requested) == ("running", True, True)


@pytest.mark.spec("S4.21", "A4.6")
def test_one_that_is_tried_again_in_ten_minutes_is_made_due_now(visitor: Visitor, page_url: Url, work: Any) -> None:
    with at(0):
        run = work.enqueue(fails=True)
        HandWorker().work()
        Job.objects.update(run_at=Job.objects.get().queued_at.replace(minute=10))
        assert taken_ids() == []
        visitor("retry_run").post(page_url("run_retry", run.id), {"reason": "the bank is back"})
        assert taken_ids() == [run.id]
    assert outcomes_of(run.id) == ["error"]


@pytest.mark.spec("S4.21", "A4.6")
def test_a_run_that_waits_is_marked_failed_at_once(visitor: Visitor, page_url: Url, work: Any) -> None:
    with at(5):
        run = work.options(delay=3600).enqueue()
        page = visitor("fail_run").get(page_url("run_fail", run.id))
        assert 'name="force"' not in page.text
        visitor("fail_run").post(page_url("run_fail", run.id), {"reason": "bad address"})
        found = JobRun.objects.get()
        assert (found.state, found.done_reason, found.error) == ("failed", "marked_failed", "bad address")
        assert found.finished_at == found.queued_at


@pytest.mark.spec("S4.21")
def test_one_on_a_live_worker_is_marked_failed_only_by_force(visitor: Visitor, page_url: Url, work: Any) -> None:
    run, _ = running(work, is_alive=True)
    client = visitor("fail_run")
    page = client.get(page_url("run_fail", run.id))
    assert 'name="force"' in page.text
    assert "whatever it does from now on still happens" in page.text
    answer = client.post(page_url("run_fail", run.id), {"reason": "stuck"})
    assert "1 was skipped: runs on worker" in told(answer)
    assert Job.objects.get().state == "running"
    client.post(page_url("run_fail", run.id), {"reason": "stuck", "force": "on"})
    assert JobRun.objects.get().state == "failed"


@pytest.mark.spec("S1.R8")
def test_the_run_of_a_lost_worker_waits_again_without_waiting_for_its_lease(
    visitor: Visitor, page_url: Url, work: Any
) -> None:
    run, _ = running(work, is_alive=False)
    answer = visitor("reconcile_runs").post(page_url("run_requeue", run.id), {"reason": "host burnt down"})
    assert "1 queued again." in told(answer)
    assert Job.objects.get().state == "queued"
    assert outcomes_of(run.id) == ["lost"]
    assert ControlEvent.objects.get().action == "requeue"
    assert taken_ids() == [run.id]


def test_a_run_in_good_hands_is_not_requeued(visitor: Visitor, page_url: Url, work: Any) -> None:
    run, _ = running(work, is_alive=True)
    answer = visitor("reconcile_runs").post(page_url("run_requeue", run.id), {"reason": "x"})
    assert "1 was skipped: runs on worker" in told(answer)
    assert Job.objects.get().state == "running"


@pytest.mark.spec("S2.33", "A4.6")
def test_running_again_makes_one_new_run_with_the_same_input_and_leads_to_it(
    visitor: Visitor, page_url: Url, ended: Any
) -> None:
    answer = visitor("retry_run").post(page_url("run_again", ended.id), {"reason": "once more"})
    new = Job.objects.get()
    assert answer["Location"] == page_url("run_detail", new.pk)
    assert (new.parent, new.payload, new.state) == (ended.id, {"n": 7}, "queued")
    assert JobRun.objects.get().pk == ended.id
    assert "this is the new run" in told(answer)
    assert LogEntry.objects.get().object_id == str(ended.id)
    assert ControlEvent.objects.get().detail["new_runs"] == {str(ended.id): str(new.pk)}


def test_running_again_that_cannot_be_says_why_and_stays(visitor: Visitor, page_url: Url, ended: Any) -> None:
    JobRun.objects.update(payload={"n": "canary"})
    answer = visitor("retry_run").post(page_url("run_again", ended.id))
    assert answer["Location"] == page_url("run_detail", ended.id)
    assert "does not fit any more: n" in told(answer)
    assert "canary" not in told(answer)  # who retries may not see payloads
    assert "canary" not in str(ControlEvent.objects.get().detail)


@pytest.mark.parametrize(("name", "why"), [("run_again", "It has not ended"), ("run_retry", "It has ended meanwhile")])
def test_an_act_that_came_too_late_or_too_early_changes_nothing(
    visitor: Visitor, page_url: Url, work: Any, ended: Any, name: str, why: str
) -> None:
    run = ended if name == "run_retry" else work.options(delay=3600).enqueue()
    before = Job.objects.count()
    page = visitor("retry_run").post(page_url(name, run.id))
    assert page.status_code == 200
    assert why in page.text
    assert Job.objects.count() == before
    assert not ControlEvent.objects.exists()


def test_what_starts_a_type_with_a_permission_of_its_own_needs_that_too(visitor: Visitor, page_url: Url) -> None:
    @job(name="work", permission="auth.add_user")
    def work() -> None: ...

    ended, later = work.enqueue(), work.options(delay=3600).enqueue()
    HandWorker().work()
    client = visitor("retry_run", "trigger_job", "cancel_run")
    assert buttons(client, page_url, ended) == set()
    assert buttons(client, page_url, later) == {"run_cancel"}
    for name, run in (("run_again", ended), ("run_retry", later)):
        for method in (client.get, client.post):
            assert method(page_url(name, run.id)).status_code == 403
    User.objects.get().user_permissions.add(Permission.objects.get(codename="add_user"))
    assert buttons(client, page_url, ended) == {"run_again", "changes"}
    assert buttons(client, page_url, later) == {"run_retry", "run_cancel"}


def test_to_requeue_a_type_with_a_permission_of_its_own_needs_that_too(visitor: Visitor, page_url: Url) -> None:
    @job(name="work", permission="auth.add_user")
    def work() -> None: ...

    run, _worker = running(work, is_alive=False)
    client = visitor("reconcile_runs")
    assert buttons(client, page_url, run) == set()
    for method in (client.get, client.post):
        assert method(page_url("run_requeue", run.id)).status_code == 403
    User.objects.get().user_permissions.add(Permission.objects.get(codename="add_user"))
    assert buttons(client, page_url, run) == {"run_requeue"}
    assert client.post(page_url("run_requeue", run.id)).status_code == 302
    assert Job.objects.get().state == "queued"


def test_an_act_leads_back_to_where_it_was_asked_for(visitor: Visitor, page_url: Url, work: Any) -> None:
    run = work.enqueue()
    client = visitor("cancel_run")
    text = client.get(page_url("run_detail", run.id)).text
    assert f"{page_url('run_cancel', run.id)}?next=" in text
    answer = client.post(page_url("run_cancel", run.id), {"next": "/admin/jobs_app/run/?state=live"})
    assert answer["Location"] == "/admin/jobs_app/run/?state=live"


def test_no_run_no_act(visitor: Visitor, page_url: Url) -> None:
    client = visitor(everything=True)
    for name in VERBS:
        assert client.post(page_url(name, UUID(int=7))).status_code == 404
    assert not ControlEvent.objects.exists()
