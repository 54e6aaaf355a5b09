"""The dashboard: what it says, where its numbers lead, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from jobs_app import job
from jobs_app.insights import dashboard, run_list
from jobs_app.insights.budget import OutOfBudget
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.snapshots import snapshots
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.lifecycle.rollups import ALL_ENDED, MINUTE, Sample, minute_of, write
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import Pause, ScheduleState, WorkerKind
from tests.admin.conftest import Visitor
from tests.by_hand import HandWorker

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]


@pytest.fixture
def url(page_url: PageUrl) -> str:
    return page_url("dashboard_changelist")


@pytest.fixture
def mail(registry_restored: None) -> Any:
    @job(queue="mail", max_attempts=1)
    def mail(fails: bool = False) -> None:
        if fails:
            raise ValueError("<b>no</b> such address")

    return mail


def text(client: Client, url: str) -> str:
    snapshots.clear()
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def section(page: str, name: str) -> str:
    found = re.search(rf'id="{name}"(.*?)</section>', page, re.DOTALL)
    assert found, f"there is no part {name}"
    return found[1]


def tiles(page: str) -> dict[str, tuple[str, str]]:
    """By their text: the number, and where it leads."""
    pattern = r'<div class="jobs-tile[^"]*">\s*(?:<a href="([^"]*)">)?<strong>(.*?)</strong>\s*([^<]*)'
    found = re.findall(pattern, section(page, "dashboard-tiles"), re.DOTALL)
    return {words.strip(): (re.sub("<[^>]*>", "", number), unescape(link)) for link, number, words in found}


def query_of(link: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}


def alive(worker: str = "w1", **columns: Any) -> None:
    announce(connection, Presence(id=worker, concurrency=4, **{"version": "1.0"} | columns))


def with_processes() -> None:
    alive()
    alive("clock", kind=WorkerKind.SCHEDULER)


def test_a_dashboard_with_nothing_is_a_list_of_first_steps(visitor: Visitor, url: str) -> None:
    page = text(visitor(), url)
    steps = section(page, "dashboard-checklist")
    assert (steps.count("done"), steps.count("to do")) == (1, 4)
    for told in ("manage.py runworker", "manage.py runscheduler", "@job"):
        assert told in steps
    assert "All is well" in page


def test_the_first_steps_name_task_where_tasks_are_ours(visitor: Visitor, url: str, settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "django.tasks.backends.immediate.ImmediateBackend"}}
    assert "@task" not in section(text(visitor(), url), "dashboard-checklist")
    settings.TASKS = {"default": {"BACKEND": "jobs_app.tasks_backend.JobsBackend"}}
    steps = section(text(visitor(), url), "dashboard-checklist")
    assert "@job in the jobs.py of an app, or @task in its tasks.py" in steps


def test_the_first_steps_tick_themselves_and_go(visitor: Visitor, url: str, mail: Any) -> None:
    client = visitor()
    with_processes()
    steps = section(text(client, url), "dashboard-checklist")
    assert (steps.count("done"), steps.count("to do")) == (4, 1)
    mail.enqueue()
    assert "First steps" not in text(client, url)


def test_where_all_is_well_it_says_so(visitor: Visitor, url: str, mail: Any) -> None:
    with_processes()
    mail.enqueue()
    page = text(visitor(), url)
    assert "All is well" in page
    assert "Needs attention" not in page


@pytest.mark.spec("S4.26")
def test_it_says_what_needs_attention_and_leads_there(visitor: Visitor, url: str, page_url: PageUrl, mail: Any) -> None:
    """Is the schedule right, are there due rows, and who works?"""
    mail.enqueue()
    ScheduleState.objects.create(
        job_type="mail", interval_seconds=60, next_run_at=datetime.now(UTC) - timedelta(hours=1)
    )
    found = section(text(visitor(), url), "dashboard-verdict")
    for sentence, link in {
        "No worker is alive, and jobs wait": page_url("workerstate_changelist"),
        "No scheduler is alive, and schedules are active": page_url("workerstate_changelist"),
        "1 schedule is overdue": page_url("schedulestate_changelist") + "?trouble=overdue",
    }.items():
        assert f'<a href="{link}">{sentence}</a>' in found
    assert "Needs attention (3)" in found


@pytest.mark.spec("S4.26")
def test_every_number_of_a_tile_is_that_of_its_link(visitor: Visitor, url: str, page_url: PageUrl, mail: Any) -> None:
    with_processes()
    worker = HandWorker()
    for fails in (True, True, False):
        mail.enqueue(fails=fails)
        worker.work()
    mail.enqueue_many([{}] * 3), mail.options(delay=600).enqueue()
    worker.claim(1)
    late = datetime.now(UTC) - timedelta(minutes=5)
    for subject in ("a", "b"):
        ScheduleState.objects.create(job_type="mail", subject=subject, interval_seconds=60, next_run_at=late)
    found = tiles(text(visitor(), url))
    for words, expected in {"waiting": 3, "running of 4 slots": 1, "failed in 24 h": 2}.items():
        number, link = found[words]
        assert int(number) == expected == run_list.count(connection, RunFilter.from_query(query_of(link))).number
    number, link = found["overdue schedules"]
    assert int(number) == 2 == ScheduleFilter(**query_of(link)).rows(connection).count()
    assert found["stale runs"] == ("1", page_url("dashboard_stale"))  # nobody has heard of who claimed it
    oldest = run_list.page(connection, RunFilter(state="waiting", order="due")).runs[0]
    assert found["due: the oldest wait"][1] == page_url("run_detail", oldest.pk)


def test_the_numbers_of_queues_are_those_of_their_links(visitor: Visitor, url: str, mail: Any) -> None:
    mail.enqueue_many([{}] * 4), mail.options(queue="other").enqueue()
    HandWorker().claim(2)
    table = section(text(visitor(), url), "dashboard-queues")
    links = re.findall(r'<a href="([^"]*/run/[^"]*)">(\d+)</a>', table)
    assert len(links) == 4
    for link, number in links:
        assert run_list.count(connection, RunFilter.from_query(query_of(unescape(link)))).number == int(number)


def test_a_queue_has_its_state_its_rates_and_its_line(visitor: Visitor, url: str, mail: Any) -> None:
    with_processes()
    mail.enqueue()
    now = minute_of(datetime.now(UTC))
    for ago in range(1, 11):
        write(
            connection,
            now - ago * MINUTE,
            [
                Sample(*ALL_ENDED, 5),
                Sample("waiting", "mail", 100 - ago),
                Sample("enqueued", "mail", 6),
                Sample("finished", "mail", 5),
            ],
        )
    table = section(text(visitor("pause_queue"), url), "dashboard-queues")
    assert "Waiting in the last hour: from 90 to 99, at most 99" in table
    assert [
        re.sub("<[^>]*>", "", cell).strip()
        for cell in re.findall(r'data-label="(?:In|Out)/min"[^>]*>(.*?)</td>', table)
    ] == ["6.0", "5.0"]
    assert "+1.0/min" in table
    assert "0 of 4 slots are busy" in table
    assert "/queuestate/mail/pause/" in table


def test_what_ended_is_drawn_with_its_numbers_in_words(visitor: Visitor, url: str) -> None:
    now = minute_of(datetime.now(UTC))
    write(connection, now - MINUTE, [Sample("ended.succeeded", "mail", 7), Sample(*ALL_ENDED, 7)])
    write(connection, now - 2 * MINUTE, [Sample("ended.failed", "mail", 2)])
    chart = section(text(visitor(), url), "dashboard-throughput")
    assert "7 succeeded, 2 failed; at most 7 ended in one minute" in chart
    assert chart.count("<g>") == 60


def test_failures_are_grouped_and_may_be_retried_as_a_set(visitor: Visitor, url: str, mail: Any) -> None:
    for _ in range(3):
        mail.enqueue(fails=True)
        HandWorker().work()
    seen = section(text(visitor(), url), "dashboard-failures")
    assert "ValueError" in seen
    assert "&lt;b&gt;no&lt;/b&gt; such address" in seen
    assert "Retry these" not in seen
    may = section(text(visitor("retry_run"), url), "dashboard-failures")
    [(link, number)] = re.findall(r'<a href="([^"]*/run/\?[^"]*)">(\d+)</a>', may)
    wanted = RunFilter.from_query(query_of(unescape(link)))
    assert (int(number), run_list.count(connection, wanted).number) == (3, 3)
    [retry] = re.findall(r'href="([^"]*)">Retry these', may)
    assert query_of(unescape(retry)) == wanted.as_query() | {"next": url}


def test_pauses_say_who_why_and_until_and_can_be_ended(visitor: Visitor, url: str, mail: Any) -> None:
    until = datetime.now(UTC) + timedelta(hours=2)
    control.pause("queue", "mail", "ann", "<i>dispute</i>", until=until)
    control.pause("all", "", "bob", "deploy")
    page = text(visitor("pause_queue", "pause_all"), url)
    pauses = section(page, "dashboard-pauses")
    for told in ("by ann", "&lt;i&gt;dispute&lt;/i&gt;", "queue mail", "by bob", "until somebody resumes it"):
        assert told in pauses
    assert pauses.index("by bob") < pauses.index("by ann")
    assert "/queuestate/mail/resume/" in pauses
    assert "/dashboard/resume-all/" in pauses
    assert pauses.count(">Change</a>") == 2
    assert "Pause everything" not in page
    assert "paused" in section(page, "dashboard-queues")
    assert "href" not in section(text(visitor(), url), "dashboard-pauses")


def test_nobody_hears_that_all_is_well_while_everything_is_paused(visitor: Visitor, url: str) -> None:
    client = visitor()
    control.pause("subject", "acme", "ann")
    assert "All is well but for what is paused" in client.get(url).text
    control.pause("all", "", "ann", "database moves")
    told = client.get(url).text
    assert "Everything is paused: nothing starts" in told
    assert "All is well" not in told


def test_a_pause_is_seen_at_once_whatever_is_kept(visitor: Visitor, url: str, mail: Any) -> None:
    client = visitor()
    text(client, url)
    control.pause("queue", "mail", "ann")
    page = client.get(url).content.decode()
    assert "by ann" in section(page, "dashboard-pauses")
    assert "paused" in section(page, "dashboard-queues")


@pytest.mark.spec("S2.27")
def test_the_next_hour_is_merged(visitor: Visitor, url: str) -> None:
    first = datetime.now(UTC).replace(second=30) + timedelta(minutes=20)
    for number in range(5):
        ScheduleState.objects.create(job_type="poll", subject=str(number), interval_seconds=86400, next_run_at=first)
    coming = section(text(visitor(), url), "dashboard-next-hour")
    assert re.search(r">poll</a> \S 5", coming)
    assert coming.count("<li>") == 1


def test_workers_are_counted_by_how_they_are(visitor: Visitor, url: str) -> None:
    with_processes()
    alive("w2")
    control.drain("w2", "ann")
    found = section(text(visitor(), url), "dashboard-processes")
    for told in ("1 alive", "1 draining", "0 late", "0 lost"):
        assert told in found
    assert "No scheduler is alive" not in found


def test_fifty_tabs_cost_what_one_does(visitor: Visitor, url: str, mail: Any) -> None:
    mail.enqueue()
    clients = [visitor() for _ in range(3)]
    with CaptureQueriesContext(connection) as first:
        clients[0].get(url)
    for client in clients[1:]:
        with CaptureQueriesContext(connection) as later:
            client.get(url)
        assert sum("jobs_app_job" in query["sql"] for query in later) == 0
        assert len(later) < len(first) / 2


def test_the_number_of_queries_does_not_depend_on_what_there_is(visitor: Visitor, url: str, mail: Any) -> None:
    client = visitor(everything=True)
    client.get(url)  # what Django looks up once

    def queries() -> int:
        snapshots.clear()
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        return len(captured)

    with_processes()
    mail.enqueue(fails=True)
    HandWorker().work()
    mail.enqueue()
    few = queries()
    for number in range(12):
        alive(f"x{number}")
        mail.options(queue="mail").enqueue(fails=True)
        control.pause("subject", f"s{number}", "ann")
        ScheduleState.objects.create(job_type="mail", subject=str(number), interval_seconds=60, next_run_at=None)
    for _ in range(5):
        HandWorker().work()
    assert queries() == few


def test_a_part_that_takes_too_long_costs_only_itself(
    visitor: Visitor, url: str, mail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []

    def too_long(*given: Any) -> Any:
        calls.append(None)
        raise OutOfBudget("too long")

    mail.enqueue()
    monkeypatch.setattr(dashboard, "read_now", too_long)
    client = visitor()
    page = text(client, url)
    assert "took too long and was stopped" in page
    assert "could not be read in time" in page
    assert "failed in 24 h" in section(page, "dashboard-tiles")
    assert "dashboard-next-hour" in page
    again = client.get(url).content.decode()
    assert "took too long and was stopped" in again
    assert len(calls) == 1  # nobody else waits for it either


def test_names_are_shown_as_text(visitor: Visitor, url: str) -> None:
    hostile = "a/b<script>alert(1)</script>&\"'"
    Pause.objects.create(scope="subject", name=hostile, reason=hostile, actor=hostile)
    alive("w", name=hostile, host=hostile, version=hostile)
    alive("v", version=hostile + "2")
    ScheduleState.objects.create(job_type=hostile, interval_seconds=60, next_run_at=datetime.now(UTC))
    assert "<script>alert" not in text(visitor(everything=True), url)


def test_it_reads_itself_anew_and_says_how_old_its_numbers_are(visitor: Visitor, url: str) -> None:
    page = text(visitor(), url)
    assert 'data-seconds="5"' in page
    assert "Numbers were read" in page
    names = re.findall(r'id="([^"]+)"[^>]*data-jobs-live', page)
    assert len(names) == len(set(names)) > 5
    for name in names:
        if name != "dashboard-age":
            assert "<form" not in section(page, name)


def test_what_is_kept_is_the_same_in_every_language(visitor: Visitor, url: str, mail: Any) -> None:
    mail.enqueue()
    client = visitor()
    with translation.override("fr"):
        client.get(url)
    with translation.override("en"):
        assert "No worker is alive, and jobs wait" in client.get(url).content.decode()
