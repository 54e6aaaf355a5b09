"""Remote workers against a real web server, each a process of its own, on the test's database."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobs_app.lifecycle import control
from jobs_app.models import ApiToken, Job, JobItem, JobRun, WorkerState
from jobs_app.tokens import SCOPES
from tests.api.hosts import Hosts
from tests.lifecycle.rows import attempts_of, outcomes_of, tables
from tests.waiting import until
from tests.worker.harness import finished

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hosts(child_environment: dict[str, str], tmp_path: Path, jobs: Any) -> Iterator[Hosts]:
    token = control.create_token("scrapers", "ann", scopes=SCOPES).text
    started = Hosts(child_environment, tmp_path, token)
    started.start_web()
    yield started
    started.stop()


def end_lease(run: Any) -> None:
    """As if its time were over: the shortest lease is half a minute."""
    moved = Job.objects.filter(pk=run.id, state="running").update(
        lease_expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert moved == 1


@pytest.mark.spec("A1.5", "S1.8")
def test_two_remote_workers_and_a_local_one_run_every_job_once(hosts: Hosts, jobs: Any) -> None:
    runs = [jobs.share.enqueue(number=number) for number in range(60)]
    for _ in range(2):
        hosts.start_remote("share", queues="shared")
    hosts.start_local("--queues", "shared", "--concurrency", "1")
    until(lambda: Counter(WorkerState.objects.values_list("kind", flat=True)) == {"remote": 2, "worker": 1})
    more = [jobs.share.enqueue(number=number) for number in range(60, 120)]
    assert set(finished(*runs, *more, seconds=60)) == {"succeeded"}, hosts.logs()
    ran = Counter(line["job"] for line in hosts.ledger.lines())
    assert ran == Counter(str(run.id) for run in (*runs, *more))
    assert {len(outcomes_of(run.id)) for run in (*runs, *more)} == {1}
    assert {line["what"] for line in hosts.ledger.lines()} == {"remote", "local"}


@pytest.mark.spec("S1.9", "S1.16", "S1.R3", "A1.4")
def test_a_remote_worker_that_is_killed_is_followed_by_another_from_its_cursor(hosts: Hosts, jobs: Any) -> None:
    first = hosts.start_remote("scrape")
    run = jobs.scrape.enqueue(pages=5, stop_at=3)
    hosts.ledger.wait("waits")
    token = str(Job.objects.get(pk=run.id).token)
    os.killpg(first.pid, signal.SIGKILL)
    end_lease(run)
    hosts.gate.touch()
    hosts.start_remote("scrape")
    assert finished(run, seconds=60) == ["succeeded"], hosts.logs()
    pages = [(line["page"], line["attempt"]) for line in hosts.ledger.lines("page")]
    assert pages == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2)]
    assert outcomes_of(run.id) == ["lost", "success"]
    assert JobItem.objects.filter(job_id=run.id).count() == JobRun.objects.get(pk=run.id).result_count == 15
    before = tables()
    for said in ({"done": True}, {"error": "late"}, {"items": [{"key": "late", "data": 1}]}):
        status, told = hosts.call("report_results", {"job_id": str(run.id), "token": token, **said})
        assert (status, told["done"], told["added"]) == (200, True, 0)
    assert tables() == before


@pytest.mark.spec("S1.R3", "A1.4")
def test_a_frozen_worker_that_wakes_up_late_changes_nothing_and_drops_the_job(hosts: Hosts, jobs: Any) -> None:
    zombie = hosts.start_remote("scrape")
    run = jobs.scrape.enqueue(pages=3, stop_at=2)
    hosts.ledger.wait("waits")
    os.killpg(zombie.pid, signal.SIGSTOP)
    end_lease(run)
    told = until(lambda: hosts.pull("second")["job"])
    assert (told["job_id"], told["attempt"], told["cursor"]) == (str(run.id), 2, "1")
    stale = {"job_id": str(run.id), "token": str(attempts_of(run.id)[0].token)}
    before = tables()
    for said in ({"done": True}, {"error": "late"}, {"cursor": "9"}, {}):
        assert hosts.call("report_results", {**stale, **said})[0] == 409
    assert tables() == before
    hosts.gate.touch()
    os.killpg(zombie.pid, signal.SIGCONT)
    hosts.ledger.wait("page", 2)  # it goes on with page 2, is told with its report, and takes the next job
    assert finished(jobs.scrape.enqueue(pages=1)) == ["succeeded"], hosts.logs()
    assert Job.objects.get(pk=run.id).cursor == "1"
    status, answer = hosts.call("report_results", {"job_id": str(run.id), "token": told["token"], "done": True})
    assert (status, answer["state"]) == (200, "succeeded")
    assert outcomes_of(run.id) == ["lost", "success"]


@pytest.mark.spec("A1.3", "S1.15")
def test_a_scraper_stops_by_itself_when_the_target_is_reached(hosts: Hosts, jobs: Any) -> None:
    run = jobs.scrape.enqueue(pages=100, wanted=5)
    hosts.start_remote("scrape", "--once").wait(60)
    row = JobRun.objects.get(pk=run.id)
    assert (row.state, row.done_reason, row.progress_count, row.result_count) == ("succeeded", "target_reached", 6, 6)
    assert [line["page"] for line in hosts.ledger.lines("page")] == [1, 2]


@pytest.mark.spec("S1.16")
def test_what_is_too_much_for_one_report_arrives_whole(hosts: Hosts, jobs: Any) -> None:
    run = jobs.scrape.enqueue()
    assert hosts.start_remote("scrape_at_once", "--once").wait(60) == 0, hosts.logs()
    row = JobRun.objects.get(pk=run.id)
    assert (row.state, row.progress_count, row.result_count, row.cursor) == ("succeeded", 2500, 2500, "all")
    assert JobItem.objects.filter(job_id=run.id).count() == 2500


@pytest.mark.spec("A1.2", "S1.17")
def test_a_handler_that_always_fails_has_five_attempts(hosts: Hosts, jobs: Any) -> None:
    run = jobs.scrape.enqueue()
    for number in range(1, 6):
        assert hosts.start_remote("fail", "--once").wait(60) == 0, hosts.logs()
        assert len(outcomes_of(run.id)) == number
        Job.objects.filter(pk=run.id).update(run_at=timezone.now())
    row = JobRun.objects.get(pk=run.id)
    assert (row.state, row.done_reason, row.error) == ("failed", "exhausted", "attempt 5 of 5")
    tried = attempts_of(run.id)
    assert [(each.outcome, each.success, each.error_class) for each in tried] == [
        ("error", False, "ConnectionError")
    ] * 5
    assert "remote_handlers.py" in tried[0].log_excerpt


@pytest.mark.spec("A1.5")
def test_of_many_simultaneous_pulls_of_one_job_exactly_one_wins(hosts: Hosts, jobs: Any) -> None:
    for _ in range(3):
        run = jobs.scrape.enqueue()
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda number: hosts.pull(f"w{number}")["job"], range(8)))
        won = [job for job in told if job]
        assert [job["job_id"] for job in won] == [str(run.id)]
        said = {"job_id": str(run.id), "token": won[0]["token"], "items": [{"key": "a"}], "idempotency_key": "k"}
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: hosts.call("report_results", said), range(8)))  # noqa: B023
        assert {status for status, _ in answers} == {200}
        assert sum(not told["idempotent"] for _, told in answers) == 1
        assert Job.objects.get(pk=run.id).progress_count == 1
        hosts.call("report_results", {**said, "idempotency_key": "end", "done": True})


@pytest.mark.parametrize("listens", ["1", "0"])
def test_a_pull_that_waits_gets_what_is_enqueued_meanwhile(
    child_environment: dict[str, str], tmp_path: Path, jobs: Any, listens: str
) -> None:
    hosts = Hosts(child_environment, tmp_path, control.create_token("t", "ann", scopes=SCOPES).text)
    hosts.start_web(WORKER_LISTEN=listens)
    try:
        with ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(hosts.pull, f"w{number}", wait_sec=30) for number in range(5)]
            until(lambda: WorkerState.objects.count() == 5)
            runs = [jobs.scrape.enqueue() for _ in range(5)]
            told = [each.result(60)["job"] for each in waiting]
    finally:
        hosts.stop()
    assert {job["job_id"] for job in told} == {str(run.id) for run in runs}


def test_a_token_that_is_revoked_ends_the_wait_of_its_worker(hosts: Hosts, jobs: Any) -> None:
    answers: list[tuple[int, dict[str, Any]]] = []
    waits = threading.Thread(target=lambda: answers.append(hosts.call("pull_job", {"worker_id": "w1", "wait_sec": 30})))
    waits.start()
    until(WorkerState.objects.exists)
    control.revoke_token(ApiToken.objects.get().prefix, "ann")
    jobs.scrape.enqueue()
    waits.join(25)
    assert [status for status, _ in answers] == [401]
    assert Job.objects.get().state == "queued"


def test_a_worker_that_is_told_to_stop_lets_its_job_end_and_leaves(hosts: Hosts, jobs: Any) -> None:
    remote = hosts.start_remote("scrape", "--grace", "30")
    run = jobs.scrape.enqueue(pages=2, stop_at=2)
    hosts.ledger.wait("waits")
    remote.send_signal(signal.SIGTERM)
    hosts.gate.touch()
    assert remote.wait(60) == 0, hosts.logs()
    assert finished(run) == ["succeeded"]
    assert not WorkerState.objects.exists()


def test_a_job_that_does_not_end_within_the_grace_goes_back_unspent(hosts: Hosts, jobs: Any) -> None:
    remote = hosts.start_remote("scrape", "--grace", "0.5")
    run = jobs.scrape.enqueue(pages=2, stop_at=2)
    hosts.ledger.wait("waits")
    remote.send_signal(signal.SIGTERM)
    assert remote.wait(60) == 0, hosts.logs()
    row = Job.objects.get(pk=run.id)
    assert (row.state, row.attempts, row.free_attempts, row.cursor) == ("queued", 1, 1, "1")
    assert outcomes_of(run.id) == ["interrupted"]
