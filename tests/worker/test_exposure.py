"""A worker's port and file, as probes and Prometheus see them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobsite.processes import free_port
from tests.metrics.scraping import HOST, Page, ask, scrape
from tests.one_database import on_one_database
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished
from tests.worker.test_process import Start, gate, holding  # noqa: F401

pytestmark = on_one_database

SUCCEEDED = {"job_type": "ping", "outcome": "succeeded"}


@pytest.fixture
def port() -> int:
    return free_port(HOST, 0)


def is_served(worker: WorkerProcess, port: int, path: str = "/readyz") -> bool:
    assert worker.process.poll() is None, worker.log()
    return ask(port, path)[0] == 200


def counted(page: Page) -> float | None:
    return page.value("jobs_completed_total", **SUCCEEDED)


@pytest.mark.spec("S0.35", "S0.45")
def test_a_worker_serves_its_metrics_and_health_without_the_web(
    start: Start,
    samples: Any,
    ledger: Ledger,
    gate: Path,  # noqa: F811
    port: int,
) -> None:
    worker = start("--metrics-port", str(port), "--metrics-host", HOST, "--concurrency", "3")
    until(lambda: is_served(worker, port))
    assert counted(scrape(port)) == 0
    finished(*[samples.ping.enqueue() for _ in range(5)])
    until(lambda: counted(scrape(port)) == 5)
    holding(samples, ledger, gate)
    until(lambda: scrape(port).value("jobs_started_total", job_type="hold") == 1)
    page = scrape(port)
    assert page.value("jobs_worker_slots") == 3
    assert page.value("jobs_worker_slots_busy") == 1
    assert page.value("job_duration_seconds_count", job_type="ping") == 5
    assert page.value("job_wait_seconds_count", queue="default") == 5
    assert page.value("jobs_queued", job_type="ping") is None  # for the web and schedulers: one is enough
    assert ask(port, "/")[0] == 404
    gate.touch()


@pytest.mark.spec("S0.R14")
def test_a_worker_that_was_scraped_waits_for_the_last_scrape(start: Start, samples: Any, port: int) -> None:
    worker = start("--metrics-port", str(port))
    until(lambda: is_served(worker, port))
    finished(samples.ping.enqueue())
    scrape(port)
    worker.term()
    worker.wait_for_log("waiting for the last scrape")
    assert ask(port, "/livez")[0] == 200
    assert ask(port, "/readyz") == (503, "it takes no more jobs\n")
    assert counted(scrape(port)) == 1
    assert worker.wait() == 0


@pytest.mark.spec("S0.R14")
def test_one_that_nobody_scraped_waits_for_nobody(start: Start, port: int) -> None:
    worker = start("--metrics-port", str(port))
    until(lambda: is_served(worker, port))
    assert "last scrape" not in worker.stop()


@pytest.mark.spec("S0.R14")
def test_a_second_signal_ends_the_wait(start: Start, port: int) -> None:
    worker = start("--metrics-port", str(port))
    until(lambda: is_served(worker, port))
    scrape(port)
    worker.term()
    worker.wait_for_log("waiting for the last scrape")

    def has_ended() -> bool:
        if worker.process.poll() is None:
            worker.term()
        return worker.process.poll() is not None

    until(has_ended, every=0.5)
    assert worker.wait() == 0  # every job had ended: nothing was given up but a scrape


def test_several_processes_are_one_to_monitoring(start: Start, samples: Any, port: int) -> None:
    worker = start("--metrics-port", str(port), "--processes", "2", "--concurrency", "2")
    until(lambda: scrape(port).value("jobs_worker_slots") == 4 if is_served(worker, port) else None)
    finished(*[samples.ping.enqueue() for _ in range(20)])
    until(lambda: counted(scrape(port)) == 20)
    os.kill(worker.children()[0], signal.SIGKILL)
    worker.wait_for_log("ended with code -9")
    assert counted(scrape(port)) == 20  # what it counted stays counted
    until(lambda: scrape(port).value("jobs_worker_slots") == 4, seconds=60)
    finished(*[samples.ping.enqueue() for _ in range(5)])
    until(lambda: counted(scrape(port)) == 25)
    worker.term()
    worker.wait_for_log("waiting for the last scrape")
    page = scrape(port)
    assert counted(page) == 25
    assert page.value("jobs_worker_slots") is None
    assert worker.wait() == 0


def probe(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "jobs_app.health", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_file_tells_probes_that_are_programs(start: Start, tmp_path: Path, processes: str) -> None:
    file = tmp_path / "beat"
    worker = start("--heartbeat-file", str(file), "--processes", processes)
    until(lambda: probe("--file", str(file), "--ready")[0] == 0, seconds=60)
    assert probe("--file", str(file)) == (0, "ok\n")
    worker.stop()
    code, text = probe("--file", str(file))
    assert code == 1
    assert "cannot be read" in text


def test_a_port_or_file_that_cannot_be_had_is_told_at_the_start(
    start: Start,
    tmp_path: Path,
    port: int,
) -> None:
    worker = start("--heartbeat-file", str(tmp_path / "none" / "beat"))
    assert worker.wait() == 1
    assert "Give another --heartbeat-file" in worker.log()
