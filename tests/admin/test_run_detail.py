"""The page of one run: what it says in each state, to whom, and whatever bytes it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs_app import current_job, job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job, JobAttempt, JobItem, JobRun
from tests.admin.conftest import Visitor
from tests.by_hand import HandWorker
from tests.lifecycle.rows import T, at, stored

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\u202egnp.exe"
HUGE = 2**80 + 1


@pytest.fixture
def url(page_url: Callable[..., str]) -> Callable[[Any], str]:
    return lambda run: page_url("run_detail", getattr(run, "id", run))


@pytest.fixture
def charge() -> Any:
    @job(name="charge", queue="bank", max_attempts=3, timeout=60, preset="transient")
    def charge(amount: int = 7, card_token: str = "tok_1", fails: bool = False) -> dict[str, Any]:
        current_job().log("asking the bank")
        if fails:
            raise ConnectionError("the bank did not answer")
        return {"receipt": HUGE, "session_token": "s3cret"}

    return charge


def alive(worker: HandWorker) -> None:
    announce(connection, Presence(id=worker.id, job_types=["charge"], concurrency=4, beat_seconds=10))


@pytest.mark.spec("S2.8")
def test_a_run_has_its_page_from_the_trigger_on(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.options(subject="shop-7").enqueue()
    page = visitor().get(url(run))
    assert page.status_code == 200
    assert str(run.id) in page.text
    assert "PENDING" in page.text  # the word of its preset
    assert "3 attempts at most" in page.text
    assert "shop-7" in page.text
    assert 'data-seconds="5"' in page.text


def test_where_django_would_have_it_leads_there(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.enqueue()
    answer = visitor().get(url(run) + "change/")
    assert (answer.status_code, answer["Location"]) == (302, url(run))


def test_it_says_why_it_waits_and_where_to_look(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.enqueue()
    control.pause("queue", "bank", "ann", "the bank is down")
    text = visitor().get(url(run)).text
    assert "its queue bank is paused by ann: the bank is down" in text
    assert 'data-reason="unserved"' in text
    control.resume("queue", "bank", "ann")
    assert "is paused" not in visitor().get(url(run)).text


def test_a_busy_key_leads_to_the_page_of_the_run_that_has_it(visitor: Visitor, url: Any) -> None:
    @job(name="charge", queue="bank", policy="singleton")
    def charge() -> None: ...

    first, second = (charge.options(subject="shop-7").enqueue() for _ in range(2))
    worker = HandWorker()
    alive(worker)
    worker.claim()
    assert f'<a href="{url(first)}">its subject shop-7 is busy with run {first.id}' in visitor().get(url(second)).text


@pytest.mark.spec("S2.12")
def test_a_finished_run_tells_how_long_it_waited_and_ran(visitor: Visitor, url: Any, charge: Any) -> None:
    with at(0):
        run = charge.enqueue()
    with at(90):
        [claimed] = HandWorker().claim()
    ended = HandWorker().run(claimed)
    with at(150):
        HandWorker().report(ended)
        text = visitor().get(url(run)).text
    assert JobRun.objects.get().state == "succeeded"
    assert fact(text, "Wait time") == "1m 30s"
    assert fact(text, "Run time") == "1m"
    assert fact(text, "Timeout") == "1m"
    assert "data-seconds" not in text  # nothing will change
    assert "Waiting because" not in text


def fact(text: str, name: str) -> str:
    return text.split(f"<dt>{name}</dt><dd>")[1].split("<")[0].strip()


@pytest.mark.spec("S2.27")
def test_each_attempt_has_its_worker_times_error_and_log(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.enqueue(fails=True)
    worker = HandWorker()
    worker.work()
    text = visitor("view_log").get(url(run)).text
    assert "Attempt 1" in text
    assert worker.id in text
    assert "ConnectionError" in text
    assert "the bank did not answer" in text
    assert "asking the bank" in text
    assert "Traceback (most recent call last)" in text
    assert "attempt 1 failed: it is tried again at" in text or 'data-reason="unserved"' in text


def test_logs_are_for_who_may_see_them(visitor: Visitor, url: Any, page_url: Any, charge: Any) -> None:
    run = charge.enqueue(fails=True)
    HandWorker().work()
    text = visitor("view_payload").get(url(run)).text
    assert "asking the bank" not in text
    assert "Traceback (most" not in text
    assert "the bank did not answer" in text
    log = page_url("run_log", run.id, 1)
    assert visitor("view_payload").get(log).status_code == 403
    answer = visitor("view_log").get(log)
    assert answer["Content-Type"].startswith("text/plain")
    assert "attachment" in answer["Content-Disposition"]
    assert "asking the bank" in answer.text
    assert "Traceback (most recent call last)" in answer.text
    assert visitor("view_log").get(page_url("run_log", run.id, 2)).status_code == 404


def test_payload_result_and_meta_are_for_who_may_see_them(
    visitor: Visitor, url: Any, page_url: Any, charge: Any
) -> None:
    run = charge.options(meta={"trace": "t-1"}).enqueue(amount=HUGE)
    HandWorker().work()
    blind = visitor("view_log").get(url(run)).text
    assert "receipt" not in blind
    assert "t-1" not in blind
    assert str(HUGE) not in blind
    text = visitor("view_payload").get(url(run)).text
    assert f"&quot;amount&quot;: {HUGE}" in text
    assert f"&quot;receipt&quot;: {HUGE}" in text
    assert "t-1" in text
    file = page_url("run_payload", run.id)
    assert visitor("view_log").get(file).status_code == 403
    told = json.loads(visitor("view_payload").get(file).content)
    assert (told["payload"]["amount"], told["result"]["receipt"]) == (HUGE, HUGE)


def test_secrets_are_hidden_on_the_page_and_in_the_file(visitor: Visitor, url: Any, page_url: Any, charge: Any) -> None:
    run = charge.options(meta={"auth": "m3ta"}).enqueue(card_token="tok_9")
    HandWorker().work()
    client = visitor(everything=True)
    for text in (client.get(url(run)).text, client.get(page_url("run_payload", run.id)).text):
        assert "[hidden]" in text
        assert not any(secret in text for secret in ("tok_9", "s3cret", "m3ta"))


def test_whatever_is_stored_is_shown_as_text(visitor: Visitor, url: Any, page_url: Any, charge: Any) -> None:
    run = charge.options(subject=HOSTILE.replace("\u202e", "")).enqueue(fails=True)
    HandWorker().work()
    Job.objects.update(last_error=HOSTILE, cursor=HOSTILE, progress_message=HOSTILE, last_progress_at=T)
    JobAttempt.objects.update(message=HOSTILE, traceback=HOSTILE, log_excerpt=HOSTILE, error_class="<b>")
    Job.objects.update(payload={"note": HOSTILE, HOSTILE: 1}, meta={"note": HOSTILE}, actor=HOSTILE)
    control.pause("subject", HOSTILE.replace("\u202e", ""), "ann", HOSTILE)
    text = visitor(everything=True).get(url(run)).text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;\\u202egnp.exe") >= 8
    assert "<b>" not in text
    assert "<script>" in visitor("view_log").get(page_url("run_log", run.id, 1)).text  # a file, and not HTML


def test_what_cannot_be_sent_is_told_as_escapes(visitor: Visitor, url: Any, page_url: Any, is_postgres: bool) -> None:
    if is_postgres:
        pytest.skip("PostgreSQL stores none of it")
    [run_id] = stored()
    Job.objects.update(payload={"note": "a\x00b\ud800"}, last_error="a\x00b\x1b[31m", subject="s\x00")
    client = visitor(everything=True)
    text = client.get(url(run_id)).text
    assert "a\\u0000b\\ud800" in text
    assert "a\\x00b\\x1b[31m" in text
    assert "\x00" not in text
    assert json.loads(client.get(page_url("run_payload", run_id)).content)["payload"] == {"note": "a\x00b\ud800"}


def test_a_text_that_is_too_long_is_cut_and_whole_in_a_file(visitor: Visitor, url: Any, page_url: Any) -> None:
    [run_id] = stored()
    Job.objects.update(payload={"note": "x" * 70_000 + "end"})
    JobAttempt.objects.create(
        job_id=run_id, number=1, token=uuid4(), finished_at=T, outcome="error", success=False, log_excerpt="y" * 70_000
    )
    client = visitor("view_payload", "view_log")
    text = client.get(url(run_id)).text
    assert "Only the beginning is shown." in text
    assert "Only the end is shown." in text
    assert "xend" not in text
    assert "y" * 65_537 not in text
    assert "xend" in client.get(page_url("run_payload", run_id)).text
    assert "y" * 70_000 in client.get(page_url("run_log", run_id, 1)).text


def test_a_running_one_tells_how_it_is(visitor: Visitor, url: Any, charge: Any) -> None:
    with at(0):
        run = charge.enqueue()
        worker = HandWorker(lease=300)
        alive(worker)
        worker.claim()
        Job.objects.update(
            progress_count=14, target_count=25, progress_message="page 14", cursor="c-14", last_progress_at=T
        )
        text = visitor().get(url(run)).text
        assert "RUNNING" in text
        assert "attempt 1 of 3" in text
        assert '<progress max="25" value="14"' in text
        assert "page 14" in text
        assert "c-14" in text
        assert "held" in text
        assert "stands still" not in text
        assert " sent)" not in text
    with at(40):  # three heartbeats missed
        assert "It stands still" in visitor().get(url(run)).text
        alive(worker)
        assert "It stands still" not in visitor().get(url(run)).text
    with at(66):  # past its timeout and the grace after it
        alive(worker)
        assert "Overdue" in visitor().get(url(run)).text


def test_the_bar_of_a_remote_one_is_of_the_results_that_its_target_wants(visitor: Visitor, url: Any) -> None:
    @job(remote=True, target="wanted")
    def find(wanted: int) -> None: ...

    run = find.enqueue(wanted=30)
    Job.objects.update(progress_count=34, result_count=28, target_count=30, last_progress_at=T)
    text = " ".join(visitor().get(url(run)).text.split())
    assert '<progress max="30" value="28" aria-label="Progress"></progress> 28 / 30 (34 sent)' in text


def test_a_running_one_that_was_asked_to_stop_says_so(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.enqueue()
    HandWorker().claim()
    control.cancel(run.id, "ann")
    assert "It was asked to stop." in visitor().get(url(run)).text
    control.abort(run.id, "ann")
    assert "It is being stopped by force." in visitor().get(url(run)).text


def test_attempts_are_paged(visitor: Visitor, url: Any) -> None:
    [run_id] = stored()
    for number in range(1, 46):
        JobAttempt.objects.create(
            job_id=run_id, number=number, token=uuid4(), finished_at=T, outcome="error", success=False
        )
    client = visitor()
    first = client.get(url(run_id)).text
    assert numbers(first) == list(range(45, 25, -1))
    assert f"{url(run_id)}?before=26" in first
    second = client.get(url(run_id), {"before": "26"}).text
    assert numbers(second) == list(range(25, 5, -1))
    assert numbers(client.get(url(run_id), {"before": "6"}).text) == [5, 4, 3, 2, 1]
    assert numbers(client.get(url(run_id), {"before": "nonsense"}).text) == numbers(first)


def numbers(text: str) -> list[int]:
    return [int(part.split(" ")[0]) for part in text.split("<h3>Attempt ")[1:]]


@pytest.mark.spec("S2.33")
def test_parent_and_children_lead_to_each_other(visitor: Visitor, url: Any, charge: Any) -> None:
    first = charge.enqueue()
    HandWorker().work()
    second = control.retry(first.id, "ann").new_runs[first.id]
    assert url(second) in visitor().get(url(first)).text
    assert url(first) in visitor().get(url(second)).text
    JobRun.objects.all().delete()
    orphan = visitor().get(url(second)).text
    assert str(first.id) in orphan
    assert "pruned" in orphan


def test_what_people_did_with_it_is_told_to_who_may_see_that(visitor: Visitor, url: Any, charge: Any) -> None:
    run = charge.options(delay=3600).enqueue()
    control.retry(run.id, "ann", "they need it now")
    assert "they need it now" in visitor("view_controlevent").get(url(run)).text
    assert "they need it now" not in visitor().get(url(run)).text


def test_reported_items_are_counted(visitor: Visitor, url: Any) -> None:
    [run_id] = stored()
    JobItem.objects.bulk_create(JobItem(job_id=run_id, key=str(number), data={}) for number in range(3))
    assert "Items reported: <strong>3</strong>" in visitor().get(url(run_id)).text


def test_reported_items_are_shown_page_by_page_with_secrets_hidden(visitor: Visitor, url: Any) -> None:
    [run_id] = stored()
    data = [{"n": number, "api_token": "s3cr3t", "text": "<b>"} for number in range(45)]
    JobItem.objects.bulk_create(JobItem(job_id=run_id, key=f"k&{each['n']:02}", data=each) for each in data)
    client, address, seen = visitor("view_payload"), url(run_id), list[str]()
    while address:
        page = client.get(address).text
        assert "Items reported: <strong>45</strong>" in page
        assert "s3cr3t" not in page
        assert "<b>" not in page
        seen += re.findall(r"k&amp;(\d\d)</bdi>", page)
        found = re.search(r'href="([^"]+)#run-items" rel="next"', page)
        address = unescape(found[1]) if found else ""
    assert seen == [f"{number:02}" for number in range(45)]


def test_what_was_reported_is_shown_to_who_may_see_payloads(visitor: Visitor, url: Any) -> None:
    [run_id] = stored()
    JobItem.objects.create(job_id=run_id, key="canary-key", data="canary-data")
    assert "canary" not in visitor().get(url(run_id)).text
    assert "canary-data" in visitor("view_payload").get(url(run_id)).text


def test_a_long_item_is_cut(visitor: Visitor, url: Any) -> None:
    [run_id] = stored()
    JobItem.objects.create(job_id=run_id, key="k", data="x" * 10_000)
    page = visitor("view_payload").get(url(run_id)).text
    assert "x" * 1000 in page
    assert "x" * 2001 not in page
    assert "Only the beginning is shown." in page


def test_no_such_run_is_told_kindly(visitor: Visitor, url: Any, page_url: Any, settings: Any) -> None:
    settings.JOBS = {"RETENTION_DAYS": 14, "RETENTION_FAILED_DAYS": 0}
    unknown = UUID(int=7)
    for name in ("run_detail", "run_payload", "run_cancel", "run_again", "run_fail"):
        page = visitor(everything=True).get(page_url(name, unknown))
        assert page.status_code == 404
        assert "pruned by retention" in page.text
        assert "kept for 14 days" in page.text
        assert "Those that failed are kept for ever" in page.text


def test_who_may_not_see_pages_sees_no_run(visitor: Visitor, url: Any, page_url: Any, charge: Any) -> None:
    run = charge.enqueue()
    blind = visitor("view_payload", "view_log", sees=False)
    for name in ("run_detail", "run_payload"):
        assert blind.get(page_url(name, run.id)).status_code == 403
    assert Client().get(url(run)).status_code == 302
    assert visitor(everything=True).post(url(run)).status_code == 405


def test_it_takes_as_many_queries_whatever_the_run_has(visitor: Visitor, url: Any, charge: Any) -> None:
    def queries(run_id: UUID) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(url(run_id)).status_code == 200
        return len(captured)

    client = visitor(everything=True)
    small, large = charge.enqueue(), charge.enqueue()
    HandWorker().claim(1)
    Job.objects.update(state="queued", token=None, lease_expires_at=None, worker_id="w", parent=UUID(int=9))
    client.get(url(small))
    for number in range(30):
        JobAttempt.objects.create(
            job_id=large.id, number=number, token=uuid4(), finished_at=T, outcome="error", success=False
        )
        stored(1, parent=large.id)
        stored(1, job_type="charge", queue="bank")
        control.pause("queue", f"q-{number}", "ann")
    assert queries(large.id) == queries(small.id) <= 40
