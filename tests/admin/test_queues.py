"""The list of queues, one of them in full, and what is done to one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs_app import job
from jobs_app.insights import queues
from jobs_app.insights.queue_states import MANY_WAIT
from jobs_app.insights.snapshots import snapshots
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.rollups import MINUTE, Sample, minute_of, write
from jobs_app.models import ControlEvent, Job, Pause, QueueState, StatSample
from jobs_app.registry import registry
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

Visitor = Callable[..., Client]
PageUrl = Callable[..., str]


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports")
    def report() -> None: ...

    return report


def read(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def told(answer: Any) -> str:
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def test_the_list_says_how_each_queue_does(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    announce(connection, Presence(id="one", name="one", concurrency=4, job_types=["report"]))
    stored(2, job_type="report", queue="reports")
    minute = (timezone.now() - timedelta(minutes=2)).replace(second=0, microsecond=0)
    for series, value in (("waiting", 2), ("enqueued", 2), ("finished", 4)):
        StatSample.objects.create(at=minute, seconds=60, series=series, name="reports", value=value)
    StatSample.objects.create(at=minute, seconds=60, series="ended", name="", value=4)
    answer = visitor().get(page_url("queuestate_changelist"))
    [(line, status, word)] = answer.context["queues"]
    assert (line.counts.queued, line.slots, status, str(word)) == (2, 4, "ok", "active")
    assert (line.hour.per_minute_in, line.hour.per_minute_out, line.drained_in) == (2, 4, 60)
    page = answer.content.decode()
    assert f"{page_url('run_changelist')}?queue=reports&amp;state=queued" in page
    assert 'role="img"' in page


def test_a_queue_that_nobody_serves_is_a_bad_sign(visitor: Visitor, page_url: PageUrl) -> None:
    assert "no worker" in read(visitor(), page_url("queuestate_changelist"))
    page = read(visitor(), page_url("queuestate_detail", "reports"))
    assert "No live worker serves this queue" in page
    assert "manage.py runworker --queues reports" in page


@pytest.mark.parametrize("name", ["queuestate_changelist", "queuestate_detail", "dashboard_changelist"])
def test_every_page_has_the_same_word_for_a_queue(visitor: Visitor, page_url: PageUrl, name: str) -> None:
    url = page_url(name, *(["reports"] if name.endswith("detail") else []))
    badge = r'jobs-badge-{}"><span aria-hidden="true">[^<]*</span> {}<'
    snapshots.clear()
    assert re.search(badge.format("bad", "no worker"), read(visitor(), url))
    announce(connection, Presence(id="one", name="one", concurrency=4, job_types=["report"]))
    stored(MANY_WAIT, job_type="report", queue="reports")
    minute = minute_of(timezone.now())
    for ago in range(1, 6):
        write(connection, minute - ago * MINUTE, [Sample("waiting", "reports", 100 - 10 * ago)])
    snapshots.clear()
    assert re.search(badge.format("warn", "growing"), read(visitor(), url))


def test_who_serves_it_and_drains_is_told_so(visitor: Visitor, page_url: PageUrl) -> None:
    announce(connection, Presence(id="one", name="one", concurrency=4, job_types=["report"]))
    url = page_url("queuestate_detail", "reports")
    assert "0 of 4 slots busy</li>" in read(visitor(), url)
    control.drain("one", "ops")
    assert "0 of 4 slots busy, draining</li>" in read(visitor(), url)


def test_without_any_queue_the_page_says_how_one_comes(visitor: Visitor, page_url: PageUrl) -> None:
    registry.unregister("report")
    assert "There is no queue yet" in read(visitor(), page_url("queuestate_changelist"))


def test_a_queue_that_nobody_knows_is_not_found(visitor: Visitor, page_url: PageUrl) -> None:
    assert visitor().get(page_url("queuestate_detail", "nowhere")).status_code == 404


def test_one_queue_is_shown_with_its_limits_and_what_waits(visitor: Visitor, page_url: PageUrl, settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"reports": {"concurrency": 5, "rate": "10/minute"}}}
    control.limit_queue("reports", "ops", concurrency=2)
    stored(3, job_type="report", queue="reports", subject="<b>acme")
    answer = visitor().get(page_url("queuestate_detail", "reports"))
    page = answer.content.decode()
    for expected in ("in settings: 5", "10/minute", "Operators have set them", "&lt;b&gt;acme"):
        assert expected in page
    assert "<b>acme" not in page
    backlog = answer.context["backlog"]
    assert (backlog.size, backlog.job_types, backlog.is_sample) == (3, [("report", 3)], False)


def test_a_sample_is_called_so(visitor: Visitor, page_url: PageUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    small = queues.backlog
    monkeypatch.setattr(queues, "backlog", lambda connection, name: small(connection, name, limit=2))
    stored(3, queue="reports")
    assert "By a sample of 2 jobs." in read(visitor(), page_url("queuestate_detail", "reports"))


@pytest.mark.parametrize("name", ["queuestate_changelist", "queuestate_detail"])
def test_pages_take_the_same_queries_for_any_number_of_queues(visitor: Visitor, page_url: PageUrl, name: str) -> None:
    client = visitor(everything=True)
    url = page_url(name, *(["reports"] if name.endswith("detail") else []))

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        return len(captured)

    stored(queue="reports")
    usual = queries()
    for number in range(15):
        stored(queue=f"queue{number}", priority=number)
        stored(queue="reports", subject=f"subject{number}")
        control.pause("queue", f"queue{number}", "ops")
        control.limit_queue(f"queue{number}", "ops", concurrency=1)
        announce(connection, Presence(id=str(number), concurrency=1))
    assert queries() == usual


@pytest.mark.spec("S0.47")
def test_a_queue_is_paused_and_resumed_from_its_page(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_queue")
    detail = page_url("queuestate_detail", "reports")
    answer = client.post(page_url("queuestate_pause", "reports"), {"reason": "<flood>", "until": "15m"})
    assert answer.url == detail
    page = read(client, detail)
    assert "&lt;flood&gt;" in page
    assert page_url("queuestate_resume", "reports") in page
    assert "paused" in read(client, page_url("queuestate_changelist"))
    answer = client.post(page_url("queuestate_resume", "reports"), {"next": page_url("queuestate_changelist")})
    assert answer.url == page_url("queuestate_changelist")
    assert "Queue reports is resumed." in told(answer)
    assert not Pause.objects.exists()


def test_the_queue_of_chores_has_no_buttons_and_cannot_be_paused(visitor: Visitor, page_url: PageUrl) -> None:
    stored(job_type="jobs.own", queue="jobs.system")
    client = visitor(everything=True)
    page = read(client, page_url("queuestate_detail", "jobs.system"))
    assert page_url("queuestate_pause", "jobs.system") not in page
    answer = client.post(page_url("queuestate_pause", "jobs.system"), {})
    assert "never paused" in str(answer.context["form"].errors)


def test_the_queue_of_chores_has_its_page_before_it_has_jobs(visitor: Visitor, page_url: PageUrl, chores: Any) -> None:
    """Pages of the chores link to it."""
    client = visitor(everything=True)
    assert page_url("queuestate_detail", "jobs.system") in read(client, page_url("jobdefinition_changelist"))
    assert client.get(page_url("queuestate_detail", "jobs.system")).status_code == 200
    assert "jobs.system" not in read(client, page_url("queuestate_changelist"))


def limits(client: Client, url: str, **given: str) -> Any:
    """Post what the form shows, with these changes."""
    form = client.get(url).context["form"]
    shown = {bound.html_name: bound.value() for bound in form if bound.value() not in (None, False)}
    return client.post(url, shown | given)


def test_only_what_is_changed_is_set(visitor: Visitor, page_url: PageUrl, settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"reports": {"concurrency": 5, "rate": "10/minute", "ageing": 90}}}
    client = visitor("scale_queue")
    url = page_url("queuestate_limit", "reports")
    page = read(client, url)
    assert "In settings: 10/minute." in page
    assert 'name="rate" value="10/minute"' in page
    answer = limits(client, url, concurrency="2", rate="5/30s", fair_share="on", reason="too fast")
    assert answer.status_code == 302
    row = QueueState.objects.get()
    assert (row.max_running, row.rate_count, row.rate_seconds, row.fair_share, row.ageing_seconds) == (
        2,
        5,
        30,
        True,
        90,
    )
    event = ControlEvent.objects.get()
    assert (event.action, event.reason, event.target) == ("limit", "too fast", "reports")
    assert set(event.detail["limits"]) == {"max_running", "rate_count", "rate_seconds", "fair_share"}


def test_a_limit_is_lifted_by_leaving_it_empty(visitor: Visitor, page_url: PageUrl, settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"reports": {"concurrency": 5}}}
    limits(visitor("scale_queue"), page_url("queuestate_limit", "reports"), concurrency="")
    assert QueueState.objects.get().max_running is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"concurrency": "0"}, "concurrency"),
        ({"rate": "often"}, "rate"),
        ({"ageing": "long"}, "ageing"),
        ({}, "__all__"),
    ],
)
def test_a_limit_that_cannot_be_is_told(visitor: Visitor, page_url: PageUrl, given: dict[str, str], field: str) -> None:
    answer = limits(visitor("scale_queue"), page_url("queuestate_limit", "reports"), **given)
    assert list(answer.context["form"].errors) == [field]
    assert not QueueState.objects.exists()


def test_the_settings_speak_again(visitor: Visitor, page_url: PageUrl, settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"reports": {"concurrency": 5}}}
    control.limit_queue("reports", "ops", concurrency=2)
    client = visitor("scale_queue")
    url = page_url("queuestate_unlimit", "reports")
    assert url in read(client, page_url("queuestate_detail", "reports"))
    assert "2 → 5" in read(client, url)
    client.post(url, {})
    assert not QueueState.objects.exists()
    assert url not in read(client, page_url("queuestate_detail", "reports"))


def test_what_waits_can_be_cancelled_by_who_may(visitor: Visitor, page_url: PageUrl) -> None:
    stored(queue="reports")
    url = page_url("queuestate_detail", "reports")
    bulk = page_url("run_bulk_cancel") + "?queue=reports&amp;state=waiting&amp;window=all"
    assert bulk in read(visitor("cancel_run"), url)
    assert bulk not in read(visitor(), url)
    Job.objects.all().delete()
    assert bulk not in read(visitor("cancel_run"), url)


def test_who_may_only_look_sees_no_button_and_can_do_nothing(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor()
    page = read(client, page_url("queuestate_detail", "reports"))
    for name in ("pause", "resume", "limit", "unlimit"):
        url = page_url(f"queuestate_{name}", "reports")
        assert url not in page
        assert (client.get(url).status_code, client.post(url, {}).status_code) == (403, 403)
    assert client.post(page_url("queuestate_changelist")).status_code == 405
