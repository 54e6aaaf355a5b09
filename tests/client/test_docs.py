"""The page about remote workers says what the client does."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import threading
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from jobs_app import client as module
from jobs_app.client import JobsClient, RemoteWorker
from jobs_app.client.__main__ import new_parser
from tests.client.server import DRAINING, PULL, REPORT, TRIGGER, ScriptedServer, a_job

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "remote-workers.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.fixture
def leads(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The handler of the page, on a host with a copy of the client, before a site of two pages."""
    monkeypatch.setitem(sys.modules, "client", module)
    names: dict[str, Any] = {}
    exec(FILES["leads.py"], names)
    names["asked"] = asked = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        page = int(url.rpartition("=")[2])
        if "L%C3%BCbeck" in url:
            raise HTTPError(url, 429 if page == 2 else 404, "no", Message(), None)
        return io.BytesIO(json.dumps([{"url": f"https://shop-{page}.example"}] if page < 3 else []).encode())

    names["urlopen"] = urlopen
    return names


def reports(server: ScriptedServer, client: JobsClient, handler: Any, **job: Any) -> list[dict[str, Any]]:
    server.will_answer(PULL, a_job(**job), DRAINING)
    assert RemoteWorker(client, handler).run() == 0
    return server.sent(REPORT)


@pytest.mark.spec("S1.16")
def test_the_scraper_reports_each_page_with_its_cursor(
    leads: dict[str, Any], server: ScriptedServer, client: JobsClient
) -> None:
    first, second, end = reports(server, client, leads["scrape"], cursor="")
    assert [(body["items"][0]["key"], body["cursor"]) for body in (first, second)] == [
        ("https://shop-1.example", "2"),
        ("https://shop-2.example", "3"),
    ]
    assert end["result"] == {"pages": 2}


@pytest.mark.spec("S1.16")
def test_the_scraper_goes_on_from_the_cursor(leads: dict[str, Any], server: ScriptedServer, client: JobsClient) -> None:
    reports(server, client, leads["scrape"], cursor="2")
    assert leads["asked"] == ["https://leads.example/Bremen?page=2", "https://leads.example/Bremen?page=3"]


def test_the_scraper_gives_its_job_back_when_its_worker_stops(
    leads: dict[str, Any], server: ScriptedServer, client: JobsClient
) -> None:
    server.will_answer(PULL, a_job(cursor=""))

    def scrape(job: Any) -> Any:
        worker.stop()
        return leads["scrape"](job)

    worker = RemoteWorker(client, scrape)
    assert worker.run() == 0
    progress, end = server.sent(REPORT)
    assert (progress["cursor"], end["release"]) == ("2", True)


def test_the_scraper_tells_errors_that_pass_from_those_that_do_not(
    leads: dict[str, Any], server: ScriptedServer, client: JobsClient
) -> None:
    reports(server, client, leads["scrape"], payload={"city": "L\u00fcbeck"}, cursor="")
    later, later_on = reports(server, client, leads["scrape"], payload={"city": "L\u00fcbeck"}, cursor="2")
    assert later["permanent"] is True
    assert later_on["retry_after_sec"] == 600


def test_the_program_runs(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, leads: dict[str, Any]) -> None:
    server.will_answer(PULL, DRAINING)
    names = {"token": "jobs_abcd_x", "scrape": print, "send": print}
    exec(FILES["program.py"].replace("https://www.example.com/jobs/", server.url), names)
    assert names["code"] == 0
    assert server.sent(PULL)[0]["job_types"] == ["scrape", "send"]
    assert server.sent(TRIGGER)[0]["subject"] == "shop-7"


def test_the_commands_have_options_that_there_are() -> None:
    commands = re.findall(r"python3 -m client (.*)", PAGE)
    assert len(commands) == 2
    for command in commands:
        options = new_parser().parse_args(shlex.split(command))
        assert (options.handler, options.queues) == ("leads:scrape", ["leads"])
    for name in set(re.findall(r"`(--[a-z-]+)`\s(?:seconds|reads|works|lists)", PAGE)):
        assert name in new_parser().format_help()


def test_what_curl_sends_is_json_with_the_fields_of_the_client() -> None:
    sent = [json.loads(body) for body in re.findall(r"--json '(.*?)'", PAGE, flags=re.DOTALL)]
    assert [set(body) for body in sent] == [
        {"worker_id", "queues", "wait_sec"},
        {"job_id", "token", "idempotency_key", "items", "cursor"},
        {"job_id", "token", "idempotency_key", "done", "result"},
    ]


def test_all_that_a_handler_has_and_may_raise_is_on_the_page(client: JobsClient) -> None:
    job = module.RemoteJob(client, a_job()["job"], threading.Event())
    public = {name for name in dir(job) if not name.startswith("_")} - {"beat", "finish", "timeout_sec"}
    assert {name for name in public if f"job.{name}" not in PAGE} == set()
    assert set(re.findall(r"job\.(\w+)", PAGE)) <= public
    for error in ("Permanent", "RetryLater", "Release", "JobEnded", "JobCancelled", "LeaseLost"):
        assert error in PAGE
        assert issubclass(getattr(module, error), Exception)
