"""`runworker` and `runscheduler` as whoever operates them sees them: lines, spans, and when they will not start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs_app.models import JobRun
from tests.one_database import on_one_database
from tests.worker.harness import ROOT, Ledger, WorkerProcess, finished

pytestmark = on_one_database

Start = Callable[..., WorkerProcess]
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.spec("S3.4")
def test_a_line_that_a_job_logs_says_when_which_worker_which_job_and_its_tag(start: Start, samples: Any) -> None:
    run = samples.say_ai.enqueue()
    worker = start().wait_for_start()
    assert finished(run) == ["succeeded"]
    stamp = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]"
    line = rf"^{stamp} \[Worker \S+\] \[Job {run.id}\] WARNING \[AI\] 3 pages read$"
    assert re.search(line, worker.stop(), re.MULTILINE)


def read_json(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


def read_pairs(line: str) -> dict[str, Any]:
    pairs = re.findall(r'(\S+?)=("(?:[^"\\]|\\.)*"|\S+)', line)
    return {name: json.loads(value) if value.startswith('"') else value for name, value in pairs}


@pytest.mark.spec("S0.R16")
@pytest.mark.parametrize(("form", "read", "processes"), [("json", read_json, "2"), ("keyvalue", read_pairs, "1")])
def test_events_have_names_in_every_form_and_process(
    form: str, read: Callable[[str], dict[str, Any]], processes: str, start: Start, samples: Any
) -> None:
    calm, bad = samples.say_ai.enqueue(), samples.fail_apart.enqueue(word="a secret")
    worker = start("--log-format", form, "--processes", processes, APART="process")
    assert finished(calm, bad) == ["succeeded", "failed"]
    log = worker.stop()
    assert "a secret" not in log
    lines = [read(line) for line in log.splitlines()]
    assert {"worker_started", "job_type_registered", "worker_stopped"} <= {line.get("event") for line in lines}
    [failed] = [line for line in lines if line.get("event") == "job_failed"]
    assert (failed["job"], failed["job_type"], failed["error"]) == (str(bad.id), "fail_apart", "no page")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", failed["time"])
    said = {line["job"]: line for line in lines if line["logger"] == "sample"}
    assert said[str(calm.id)]["message"] == "[AI] 3 pages read"
    assert said[str(bad.id)]["message"] == "[AI] no page read"
    assert {line["worker"] for line in said.values()} <= {line.get("worker") for line in lines}


def test_a_handler_in_a_process_of_its_own_runs_in_the_span_of_its_run(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    run = samples.traced.options(meta={"traceparent": TRACE}).enqueue()
    start(TRACED="1", APART="process")
    assert finished(run) == ["succeeded"], JobRun.objects.get(pk=run.id).error
    [ran] = ledger.lines("ran")
    assert (ran["span"], ran["links"]) == ("process default", ["b7ad6b7169203331"])


def without_tables(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_with(f"sqlite:///{tmp_path / 'empty.sqlite3'}", *arguments)


def run_with(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "django", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.spec("S0.R16")
@pytest.mark.parametrize("arguments", ["runworker", "runworker --processes 2", "runscheduler", "runscheduler --once"])
def test_without_its_tables_it_ends_at_once_says_what_to_run_and_migrates_nothing(
    arguments: str, tmp_path: Path
) -> None:
    done = without_tables(tmp_path, *arguments.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert "lacks migrations of jobs_app: 0001_initial" in done.stderr
    assert "Run manage.py migrate" in done.stderr
    again = without_tables(tmp_path, *arguments.split())
    assert again.stderr == done.stderr


@pytest.mark.spec("S0.R16")
@pytest.mark.parametrize("command", ["runworker", "runscheduler"])
def test_without_a_database_it_ends_at_once_with_the_code_that_lets_a_supervisor_try_again(command: str) -> None:
    done = run_with("postgresql://nobody@127.0.0.1:1/nothing", command)
    assert done.returncode == 75
    assert "Is it up, and has manage.py migrate been run?" in done.stderr
