"""The pages of workers: who is how, what each runs, and draining them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.models import ControlEvent, Job, WorkerState
from tests.admin.conftest import Visitor
from tests.lifecycle.rows import stored, take

pytestmark = pytest.mark.django_db

PageUrl = Callable[..., str]
HOSTILE = ["a/b/drain", '"><script>alert(1)</script>', "100%25", "x?y#z", "日本 ü"]


@pytest.fixture
def url(page_url: PageUrl) -> str:
    return page_url("workerstate_changelist")


def process(worker: str, *, silent: float = 0, **columns: Any) -> WorkerState:
    seen_at = datetime.now(UTC) - timedelta(seconds=silent)
    given = {"started_at": seen_at - timedelta(hours=2), "seen_at": seen_at, "concurrency": 4, "version": "1.0"}
    return WorkerState.objects.create(id=worker, **{"host": "web-1", "pid": 7, "name": worker} | given | columns)


def text(client: Client, url: str, **query: str) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def listed(page: str) -> list[str]:
    """Who is in the table, by name and status."""
    rows = re.findall(
        r'<th scope="row"><a [^>]*>(.*?)</a>.*?jobs-badge-\w+"><span[^>]*>.</span> (\w+)<', page, re.DOTALL
    )
    return [f"{name} {status}" for name, status in rows]


def test_without_any_it_says_how_to_start_one(visitor: Visitor, url: str) -> None:
    page = text(visitor(everything=True), url)
    assert "<code>python manage.py runworker --with-scheduler</code>" in page


def test_everybody_is_there_with_how_they_are(visitor: Visitor, url: str) -> None:
    process("busy", queues=["mail", "sync.*"], excluded=["sync.slow"], rss_bytes=50 * 2**20)
    process("leaving", drain_requested=True), process("late", silent=45), process("lost", silent=300)
    process("clock", kind="scheduler", concurrency=0)
    page = text(visitor(), url)
    assert listed(page) == ["busy alive", "late late", "leaving draining", "lost lost", "clock alive"]
    for told in ("mail, sync.*", "but sync.slow", "50.0", "1.0", "web-1 7"):
        assert told in page
    assert "different versions" not in page


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"status": "alive", "kind": "worker"}, ["a alive"]),
        ({"status": "lost", "kind": "worker"}, ["b lost"]),
        ({"kind": "scheduler"}, ["clock alive"]),
        ({"status": "draining"}, []),
        ({"status": "nonsense"}, ["a alive", "b lost", "clock alive"]),
    ],
)
def test_they_can_be_chosen_by_how_they_are(
    visitor: Visitor, url: str, query: dict[str, str], names: list[str]
) -> None:
    process("a"), process("b", silent=300), process("clock", kind="scheduler")
    page = text(visitor(), url, **query)
    assert listed(page) == names
    assert ("No process is like that." in page) == (not names)


def test_the_numbers_above_the_list_are_those_of_the_lists_they_lead_to(visitor: Visitor, url: str) -> None:
    process("a"), process("b"), process("c", silent=300), process("d", draining=True), process("s", kind="scheduler")
    client = visitor()
    chips = re.search(r'<ul class="jobs-chips"(.*?)</ul>', text(client, url), re.DOTALL)
    assert chips
    links = re.findall(r'href="([^"]+)"[^>]*>[^<]*?(\d+)</a>', chips[1])
    assert len(links) == 6
    for link, number in links:
        assert len(listed(text(client, link.replace("&amp;", "&")))) == int(number)


def test_what_each_runs_is_told_and_counted_as_its_link_does(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    process("a")
    stored(7)
    runs = take(7, worker_id="a")
    page = text(visitor(), url)
    assert sum(page_url("run_detail", run.id) in page for run in runs) == 5
    [(link, number)] = set(re.findall(r'<a href="([^"]*/run/\?[^"]*)">(\d+)</a>', page))
    query = {name: values[0] for name, values in parse_qs(urlsplit(link.replace("&amp;", "&")).query).items()}
    assert int(number) == 7 == run_list.count(connection, RunFilter.from_query(query)).number
    detail = text(visitor(), page_url("workerstate_detail", "a"))
    assert all(page_url("run_detail", run.id) in detail for run in runs)


def test_different_versions_are_noticed(visitor: Visitor, url: str) -> None:
    process("a", version="1.0"), process("b", version="1.1"), process("c", version="0.9", silent=300)
    page = text(visitor(), url)
    assert "different versions are alive: 1.0 (1), 1.1 (1)." in page


def test_one_worker_is_asked_to_drain(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    process("a"), process("b")
    client, drain = visitor("drain_worker"), page_url("workerstate_drain", "a")
    assert drain in text(client, url)
    stored(2)
    take(2, worker_id="a")
    assert "2 jobs run there and go on to their end." in text(client, drain)
    assert not WorkerState.objects.filter(drain_requested=True).exists()
    answer = client.post(drain, {"reason": "deploy"}, follow=True)
    assert "1 asked to drain." in answer.content.decode()
    assert [row.pk for row in WorkerState.objects.filter(drain_requested=True)] == ["a"]
    event = ControlEvent.objects.get()
    assert (event.action, event.target, event.reason) == ("drain", "a", "deploy")
    assert LogEntry.objects.get().object_id == "a"
    assert drain not in text(client, url)
    assert "asked to drain: it hears of it" in text(client, page_url("workerstate_detail", "a"))


def test_all_workers_are_asked_to_drain(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    process("a"), process("b"), process("c", drain_requested=True), process("clock", kind="scheduler")
    client, drain = visitor("drain_worker"), page_url("workerstate_drain_all")
    assert drain in text(client, url)
    assert re.search(r"<strong>2</strong>\s*workers", text(client, drain))
    answer = client.post(drain, follow=True)
    assert "2 asked to drain. 1 was skipped: was asked to drain before." in answer.content.decode()
    assert sorted(WorkerState.objects.filter(drain_requested=True).values_list("pk", flat=True)) == ["a", "b", "c"]


def test_who_may_not_drain_sees_no_button(visitor: Visitor, url: str, page_url: PageUrl) -> None:
    process("a")
    client = visitor()
    for page in (url, page_url("workerstate_detail", "a")):
        assert "drain/" not in text(client, page)
    for drain in (page_url("workerstate_drain", "a"), page_url("workerstate_drain_all")):
        assert (client.get(drain).status_code, client.post(drain).status_code) == (403, 403)


def test_a_scheduler_is_not_drained(visitor: Visitor, page_url: PageUrl) -> None:
    process("clock", kind="scheduler")
    client = visitor("drain_worker")
    assert page_url("workerstate_drain", "clock") not in text(client, page_url("workerstate_detail", "clock"))
    answer = client.post(page_url("workerstate_drain", "clock"), follow=True)
    assert "only workers are drained" in answer.content.decode()


def test_one_who_has_left_is_not_found(visitor: Visitor, page_url: PageUrl) -> None:
    assert visitor().get(page_url("workerstate_detail", "gone")).status_code == 404
    answer = visitor("drain_worker").post(page_url("workerstate_drain", "gone"), follow=True)
    assert "is not there any more" in answer.content.decode()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_text_and_lead_where_they_say(visitor: Visitor, page_url: PageUrl, name: str) -> None:
    process(name, host=name, version=name, queues=[name], excluded=[name], job_types=[name])
    stored(subject=name)
    take(1, worker_id=name)
    client = visitor(everything=True)
    for url in (page_url("workerstate_changelist"), page_url("workerstate_detail", name)):
        assert "<script>alert" not in text(client, url)
    client.post(page_url("workerstate_drain", name))
    assert WorkerState.objects.get().drain_requested


def test_the_number_of_queries_does_not_depend_on_how_many_there_are(visitor: Visitor, url: str) -> None:
    client = visitor(everything=True)
    process("a")
    client.get(url)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            text(client, url)
        return len(captured)

    few = queries()
    for number in range(20):
        process(f"w{number}")
        stored()
        take(1, worker_id=f"w{number}")
    assert Job.objects.filter(state="running").count() == 20
    assert queries() == few
