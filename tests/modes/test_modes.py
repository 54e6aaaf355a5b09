"""The run modes: the web with a scheduler, workers alone, or all of it. Real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from jobs_app.models import Job, JobRun, ScheduleState, WorkerState
from jobsite.processes import free_port
from tests.metrics.scraping import HOST, Page, ask, scrape
from tests.waiting import until
from tests.worker.harness import ends_with_us

ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def start(child_environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """`manage.py` with these arguments."""
    started: list[subprocess.Popen[bytes]] = []
    settings = {"DJANGO_SETTINGS_MODULE": "tests.modes.settings"}

    def start(*arguments: object, **variables: str) -> subprocess.Popen[bytes]:
        words = [*ends_with_us(), sys.executable, "-m", "django", *map(str, arguments)]
        with (tmp_path / f"{arguments[0]}.log").open("ab") as log:
            child = subprocess.Popen(
                words, cwd=ROOT, env={**child_environment, **settings, **variables}, stdout=log, stderr=log
            )
        started.append(child)
        return child

    yield start
    for child in started:
        with suppress(ProcessLookupError):
            child.kill()
        child.wait()


@pytest.fixture
def port() -> int:
    return free_port(HOST, 0)


def start_web(start: Start, port: int, **variables: str) -> None:
    start("runserver", f"{HOST}:{port}", "--noreload", "--skip-checks", **variables)
    until(lambda: ask(port, "/readyz")[0] == 200, seconds=60)


def beats(page: Page) -> float:
    """Enqueued, as a page tells."""
    return page.value("jobs_enqueue_attempts_total", job_type="beat", outcome="success") or 0.0


def waiting() -> int:
    return Job.objects.filter(job_type="beat").count()


def next_slot() -> datetime | None:
    return ScheduleState.objects.values_list("next_run_at", flat=True).get(job_type="beat")


@pytest.mark.spec("S0.33", "S0.35", "A0.8", "S0.45")
def test_the_web_with_a_scheduler_enqueues_and_runs_nothing(start: Start, port: int) -> None:
    start_web(start, port)
    start("runscheduler")
    until(lambda: waiting() >= 3, seconds=60)
    until(lambda: (scrape(port).value("jobs_queued", job_type="beat") or 0) >= 1, seconds=60, every=0.5)
    page = scrape(port)
    assert page.value("jobs_in_flight", job_type="beat") == 0
    assert page.value("jobs_schedulers", status="alive") == 1
    assert page.value("jobs_workers", status="alive") == 0
    assert not Job.objects.filter(job_type="beat").exclude(state="queued").exists()
    assert not JobRun.objects.filter(job_type="beat").exists()


@pytest.mark.spec("S0.33", "S0.35", "A0.8")
def test_workers_alone_run_what_is_there_enqueue_nothing_and_have_a_port_of_their_own(start: Start, port: int) -> None:
    scheduler = start("runscheduler")
    until(lambda: waiting() >= 3, seconds=60)
    scheduler.send_signal(signal.SIGTERM)
    assert scheduler.wait(60) == 0
    left = waiting()
    due = next_slot()
    start("runworker", "--metrics-port", port)
    until(lambda: not waiting(), seconds=60)
    labels = {"job_type": "beat", "outcome": "succeeded"}
    until(lambda: scrape(port).value("jobs_completed_total", **labels) == left)
    assert beats(scrape(port)) == 0
    assert (waiting(), next_slot()) == (0, due)  # though its schedule is long due
    assert ask(port, "/readyz")[0] == 200


@pytest.mark.spec("S0.33", "S0.35", "A0.8")
def test_both_do_everything(start: Start, port: int) -> None:
    start_web(start, port)
    own = free_port(HOST, 0)
    worker = start("runworker", "--with-scheduler", "--metrics-port", own)
    until(lambda: JobRun.objects.filter(job_type="beat", state="succeeded").count() >= 3, seconds=60)
    page = until(lambda: (found := scrape(own)).value("jobs_queued", job_type="beat") is not None and found)
    assert beats(page) >= 3  # its own numbers, and with the scheduler in it those of the database
    until(lambda: scrape(port).value("jobs_workers", status="alive") == 1, seconds=60, every=0.5)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    assert not WorkerState.objects.exists()


@pytest.mark.spec("S0.34", "A0.8")
def test_a_scheduler_that_is_switched_off_enqueues_in_no_mode(start: Start, port: int) -> None:
    off = {"SCHEDULER_ENABLED": "false"}
    start_web(start, port, **off)
    own, workers = free_port(HOST, 0), free_port(HOST, 0)
    start("runscheduler", "--metrics-port", own, **off)
    start("runworker", "--with-scheduler", "--metrics-port", workers, **off)
    until(lambda: ask(own, "/readyz")[0] == ask(workers, "/readyz")[0] == 200, seconds=60)
    start("jobs", "trigger", "beat", **off)
    until(lambda: JobRun.objects.filter(job_type="beat", state="succeeded").count() == 1, seconds=60)
    assert not ScheduleState.objects.exists()
    assert waiting() == 0
    assert beats(scrape(own)) == beats(scrape(workers)) == 0
