"""The list of job types, one of them in full, and pausing one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs_app import job
from jobs_app.admin import words
from jobs_app.limits import Rate
from jobs_app.models import ControlEvent, Job, Pause, ScheduleState, StatSample
from jobs_app.registry import registry
from jobs_app.retry import Backoff
from tests.by_hand import HandWorker
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

Visitor = Callable[..., Client]
PageUrl = Callable[..., str]
A_MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports", max_attempts=3, timeout="5m", backoff=Backoff(base=10, cap=600))
    def report(month: Annotated[str, "as 2026-01"], size: Literal["a4", "a5"] = "a4", token: str = "hush") -> None:
        """Print the <b>report</b>.

        :param size: of the paper
        """
        raise ValueError(f"<i>{month}</i>")

    return report


def read(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def told(answer: Any) -> str:
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def sampled(series: str, value: float, *, count: int = 1, name: str = "report") -> None:
    at = (timezone.now() - 5 * A_MINUTE).replace(second=0, microsecond=0)
    StatSample.objects.create(at=at, seconds=60, series=series, name=name, value=value, count=count)


def test_the_list_says_what_code_says_and_how_each_type_does(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    for series, value in (("ended.succeeded", 7), ("ended.failed", 1), ("duration.p50", 2.5), ("duration.p95", 75)):
        sampled(series, value)
    report.options(max_attempts=1).enqueue(month="1")
    HandWorker().work()
    ScheduleState.objects.create(job_type="report", interval_seconds=60)
    page = read(visitor(), page_url("jobdefinition_changelist"))
    for expected in ("report", "reports", "3 attempts, 20s to 40s apart", "5m", "12.5", "2.5s", "1m 15s"):
        assert expected in page
    assert "&lt;i&gt;1&lt;/i&gt;" in page
    assert "<i>1</i>" not in page


def test_every_number_of_the_list_is_a_link_to_its_runs(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    sampled("ended.failed", 2)
    report.enqueue(month="1")
    page = read(visitor(), page_url("jobdefinition_changelist"))
    runs = page_url("run_changelist")
    for query in (
        "job_type=report&amp;state=live",
        "job_type=report&amp;state=finished",
        "job_type=report&amp;state=failed",
    ):
        assert f'href="{runs}?{query}"' in page


def test_a_type_that_only_the_database_knows_is_flagged(visitor: Visitor, page_url: PageUrl) -> None:
    stored(job_type="of.tomorrow")
    client = visitor(everything=True)
    assert "not in this code" in read(client, page_url("jobdefinition_changelist"))
    page = read(client, page_url("jobdefinition_detail", "of.tomorrow"))
    assert "This process has no such job type" in page
    assert page_url("jobdefinition_trigger", "of.tomorrow") not in page


def test_a_type_that_nobody_knows_is_not_found(visitor: Visitor, page_url: PageUrl) -> None:
    assert visitor().get(page_url("jobdefinition_detail", "nobody")).status_code == 404


def test_the_apps_own_chores_are_folded_away(visitor: Visitor, page_url: PageUrl, chores: Any) -> None:
    answer = visitor().get(page_url("jobdefinition_changelist"))
    assert [entry.line.name for entry in answer.context["known"]] == ["report"]
    assert "jobs.prune" in [entry.line.name for entry in answer.context["own"]]
    assert "<details" in answer.content.decode()


def test_without_any_type_the_page_says_how_to_write_one(visitor: Visitor, page_url: PageUrl) -> None:
    registry.unregister("report")
    assert "No @job found" in read(visitor(), page_url("jobdefinition_changelist"))


def test_the_list_takes_the_same_queries_for_any_number_of_types(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor(everything=True)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(page_url("jobdefinition_changelist"))
        return len(captured)

    usual = queries()
    for number in range(20):

        @job(name=f"other{number}")
        def other() -> None: ...

        sampled("ended.failed", 1, name=f"other{number}")
        stored(job_type=f"unknown{number}")
    assert queries() == usual


def test_one_type_is_shown_with_all_that_code_says(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    ScheduleState.objects.create(job_type="report", subject="<u>acme", interval_seconds=60)
    page = read(visitor(), page_url("jobdefinition_detail", "report"))
    assert "Print the &lt;b&gt;report&lt;/b&gt;." in page
    for expected in ("as 2026-01", "of the paper", "one of a4, a5", "must be given", "not shown", "&lt;u&gt;acme"):
        assert expected in page
    assert "hush" not in page


def test_one_type_is_shown_with_how_its_runs_did(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    sampled("ended.succeeded", 5)
    sampled("ended.failed", 2)
    for month in ("1", "2"):
        report.options(max_attempts=1).enqueue(month=month)
        HandWorker().work()
    answer = visitor().get(page_url("jobdefinition_detail", "report"))
    assert (answer.context["hourly_runs"], answer.context["hourly_failures"]) == (7, 2)
    assert (answer.context["measured_runs"], sum(number for _, number in answer.context["lengths"])) == (2, 2)
    [(group, url)] = answer.context["failures"]
    assert (group.error_class, group.count) == ("ValueError", 2)
    assert "error=%3DValueError" in url
    page = answer.content.decode()
    assert page.count('role="img"') == 2
    assert "7 runs ended in the last 24 hours, 2 of them failed." in page


def test_one_type_takes_the_same_queries_for_any_number_of_runs(
    visitor: Visitor, page_url: PageUrl, report: Any
) -> None:
    client = visitor(everything=True)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(page_url("jobdefinition_detail", "report"))
        return len(captured)

    usual = queries()
    for month in range(10):
        report.options(max_attempts=1).enqueue(month=str(month))
        HandWorker().work()
        ScheduleState.objects.create(job_type="report", subject=str(month), interval_seconds=60)
    assert queries() == usual


def test_who_may_only_look_sees_no_button(visitor: Visitor, page_url: PageUrl) -> None:
    for url in (page_url("jobdefinition_changelist"), page_url("jobdefinition_detail", "report")):
        page = read(visitor(), url)
        for act in ("trigger", "pause"):
            assert page_url(f"jobdefinition_{act}", "report") not in page
        page = read(visitor("trigger_job", "pause_job_type"), url)
        for act in ("trigger", "pause"):
            assert page_url(f"jobdefinition_{act}", "report") in page


def test_a_type_with_a_permission_of_its_own_hides_its_trigger(visitor: Visitor, page_url: PageUrl) -> None:
    @job(permission="auth.pay_out")
    def pay() -> None: ...

    for url in (page_url("jobdefinition_changelist"), page_url("jobdefinition_detail", "pay")):
        assert page_url("jobdefinition_trigger", "pay") not in read(visitor("trigger_job"), url)
        assert page_url("jobdefinition_trigger", "pay") in read(visitor(everything=True), url)


@pytest.mark.spec("S0.47", "S2.R5")
def test_a_type_is_paused_with_a_reason_and_resumed(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    report.enqueue_many([{"month": "1"}, {"month": "2"}])
    client = visitor("pause_job_type")
    detail = page_url("jobdefinition_detail", "report")
    answer = client.post(page_url("jobdefinition_pause", "report"), {"reason": "broken", "until": "1h"})
    assert (answer.status_code, answer.url) == (302, detail)
    pause = Pause.objects.get()
    assert (pause.scope, pause.name, pause.reason) == ("job_type", "report", "broken")
    assert pause.until is not None
    assert 3500 < (pause.until - timezone.now()).total_seconds() <= 3600
    event = ControlEvent.objects.get()
    page = read(client, detail)
    for expected in ("paused", "broken", event.actor):
        assert expected in page
    answer = client.post(page_url("jobdefinition_resume", "report"), {"reason": "mended"})
    assert "Job type report is resumed." in told(answer)
    assert "broken" not in read(client, detail)
    assert [entry.change_message for entry in LogEntry.objects.order_by("pk")] == [
        "Pause job type report: 1 moved, 0 skipped.",
        "Resume job type report: 1 moved, 0 skipped.",
    ]


@pytest.mark.django_db(transaction=True)
def test_the_message_tells_how_many_waiting_jobs_are_held(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    report.enqueue_many([{"month": "1"}, {"month": "2"}])
    client = visitor("pause_job_type")
    answer = client.post(page_url("jobdefinition_pause", "report"), {})
    assert "Job type report is paused. 2 waiting jobs are held." in told(answer)
    assert set(Job.objects.values_list("hold", flat=True)) == {"pause"}
    answer = client.post(page_url("jobdefinition_resume", "report"), {})
    assert "2 held jobs may start." in told(answer)
    answer = client.post(page_url("jobdefinition_resume", "report"), {})
    assert "Job type report is not paused." in told(answer)


def test_inside_a_transaction_workers_go_on_with_the_rest(visitor: Visitor, page_url: PageUrl, report: Any) -> None:
    report.enqueue(month="1")
    answer = visitor("pause_job_type").post(page_url("jobdefinition_pause", "report"), {})
    assert "Workers go on to hold the others." in told(answer)


def test_a_pause_is_extended_by_pausing_again(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_job_type")
    url = page_url("jobdefinition_pause", "report")
    client.post(url, {"until": "15m", "reason": "first"})
    page = read(client, url)
    assert "first" in page
    answer = client.post(url, {"until": "tomorrow", "reason": "second"})
    assert "It was paused before" in told(answer)
    pause = Pause.objects.get()
    assert pause.until is not None
    local = timezone.localtime(pause.until)
    assert (local.hour, local.minute, local.date()) == (9, 0, timezone.localdate() + timedelta(days=1))
    assert pause.reason == "second"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"until": "given"}, "Say until when."),
        ({"until": "given", "until_at": "2001-01-01T00:00"}, "has passed"),
        ({"until": "1h", "until_at": "2126-01-01T00:00"}, "two ends"),
        ({"until": "given", "until_at": "soon"}, "valid date"),
    ],
)
def test_an_end_that_cannot_be_is_told_at_its_field(
    visitor: Visitor, page_url: PageUrl, given: dict[str, str], why: str
) -> None:
    answer = visitor("pause_job_type").post(page_url("jobdefinition_pause", "report"), given)
    assert why in str(answer.context["form"].errors["until_at"])
    assert not Pause.objects.exists()


def test_a_time_that_is_given_is_the_end(visitor: Visitor, page_url: PageUrl) -> None:
    visitor("pause_job_type").post(page_url("jobdefinition_pause", "report"), {"until_at": "2126-01-01T08:30"})
    until = Pause.objects.get().until
    assert until is not None
    assert timezone.localtime(until).isoformat().startswith("2126-01-01T08:30")


def test_a_type_that_is_not_in_code_cannot_be_paused_but_resumed(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_job_type")
    answer = client.post(page_url("jobdefinition_pause", "nobody"), {})
    assert "not registered" in str(answer.context["form"].errors)
    Pause.objects.create(scope="job_type", name="gone")
    assert client.post(page_url("jobdefinition_resume", "gone"), {}).status_code == 302


@pytest.mark.spec("S0.47")
def test_everything_is_paused_with_a_reason_only(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_all")
    url = page_url("dashboard_pause_all")
    answer = client.post(url, {})
    assert list(answer.context["form"].errors) == ["reason"]
    assert not Pause.objects.exists()
    answer = client.post(url, {"reason": "fire", "until": "15m"})
    assert answer.status_code == 302
    assert "Everything is paused until" in told(answer)
    assert Pause.objects.get().scope == "all"
    client.post(page_url("dashboard_resume_all"), {"reason": "out"})
    assert not Pause.objects.exists()


def test_each_scope_has_a_permission_of_its_own(visitor: Visitor, page_url: PageUrl) -> None:
    client = visitor("pause_job_type")
    for url in (page_url("dashboard_pause_all"), page_url("queuestate_pause", "reports")):
        assert client.get(url).status_code == 403
        assert client.post(url, {"reason": "fire"}).status_code == 403
    assert not Pause.objects.exists()


def test_what_code_says_is_told_in_words() -> None:
    @job(
        max_attempts=1,
        timeout=lambda payload: 5,
        timeouts={"big": "2h"},
        variant="kind",
        policy="stately",
        key=lambda payload: "k",
        subject="kind",
        rate="10/minute",
        rate_per_key=(5, 30),
        concurrency=2,
        retry_on=(OSError,),
        retention={"failed": "7d"},
        isolation="process",
        memory="256MB",
        permission="auth.pay_out",
    )
    def special(kind: str | None, others: list[int] | None = None) -> None: ...

    told = dict(words.options(special.job_type))
    assert told == {
        "Queue": "default",
        "Priority": "0",
        "Retries": "one attempt",
        "Errors that are retried": "OSError",
        "Timeout": "by its payload; big 2h",
        "Policy": "one queued and one running",
        "Subject": "from kind",
        "Key": "by its payload",
        "Running at most": "2",
        "Starts at most": "10/minute",
        "Starts at most per key": "5/30s",
        "Runs in": "a process of its own",
        "Memory at most": "256 MB",
        "Kept for": "failed 7d",
        "Needs permission": "auth.pay_out",
    }
    assert [words.kind_of(field) for field in special.job_type.schema.fields] == [
        "str or nothing",
        "list[int] or nothing",
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Backoff(base=30, cap=3600), "waits from 1m on, each 2 times as long, up to 1h"),
        (Backoff(base=30, cap=None, exponent="retries"), "waits from 30s on, each 2 times as long"),
        (Backoff(base=30, factor=1), "30s apart"),
        (Backoff(base=0), "0s apart"),
    ],
)
def test_a_backoff_is_told_without_its_jitter(rule: Backoff, expected: str) -> None:
    assert words.backoff(rule) == expected


def test_a_rate_is_told_as_it_is_written() -> None:
    assert [words.rate(each) for each in (None, Rate(10, 60), Rate(5, 30), Rate(1, 0.5))] == [
        "",
        "10/minute",
        "5/30s",
        "1/0.5s",
    ]
