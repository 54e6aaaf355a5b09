"""`jobs worker` and `jobs scheduler`: the same commands as `runworker` and `runscheduler`."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import CommandParser
from django.utils import timezone

from jobs_app.management.commands import runscheduler, runworker
from jobs_app.management.commands.jobs import Command, find_verbs
from jobs_app.models import Job, JobAttempt, WorkerState
from tests.one_database import on_one_database
from tests.scheduler.schedules import schedule
from tests.waiting import until
from tests.worker.conftest import SAMPLE_TYPES
from tests.worker.harness import ends_with_us

pytestmark = on_one_database

MANAGE = Path(__file__).parents[3] / "manage.py"
SAME = {"worker": runworker, "scheduler": runscheduler}

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def samples(registry_restored: None) -> Any:
    return SAMPLE_TYPES.register()


@pytest.fixture
def start(child_environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """`manage.py ...` as a real process, with the sample jobs."""
    started: list[subprocess.Popen[str]] = []
    own = {"DJANGO_SETTINGS_MODULE": "tests.worker.settings", "LEDGER": str(tmp_path / "ledger")}
    own["SCHEDULER_ENABLED"] = "1"

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [*ends_with_us(), sys.executable, str(MANAGE), *arguments]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, env=child_environment | own, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    data, words = child.communicate(timeout=60)
    return child.returncode, data, words


@pytest.mark.spec("S4.20")
@pytest.mark.parametrize("names", [("jobs scheduler", "jobs worker"), ("runscheduler", "runworker")])
def test_both_can_be_run_once_by_hand(names: tuple[str, str], start: Start, samples: Any) -> None:
    row = schedule("ping", interval_seconds=3600, next_run_at=timezone.now(), origin="admin")
    scheduler, worker = (name.split() for name in names)
    code, _, words = ended(start(*scheduler, "--once"))
    assert code == 0, words
    (run,) = Job.objects.filter(schedule=row.pk)
    code, data, words = ended(start(*worker, "--once"))
    assert code == 0, words
    assert data.splitlines()[-1] == "📊 Worker completed - Processed: 1 | Success: 1 | Retry: 0 | Failed: 0"
    assert not Job.objects.filter(pk=run.pk).exists()


@pytest.mark.spec("S4.20")
def test_a_job_that_fails_twice_by_hand_waits_longer_each_time(start: Start, samples: Any) -> None:
    run = samples.charge.enqueue(fails=2)
    waits = []
    for retries in (1, 1, 0):
        code, data, words = ended(start("runworker", "--once"))
        assert code == 0, words
        assert f"| Retry: {retries} |" in data
        for waiting in Job.objects.filter(pk=run.id):
            tried_at = JobAttempt.objects.filter(job_id=run.id).latest("number").finished_at
            waits.append(round((waiting.run_at - tried_at).total_seconds()))
        Job.objects.update(run_at=timezone.now())  # nobody waits for minutes
    assert (waits, run.refresh().status) == ([60, 120], "succeeded")


@pytest.mark.parametrize("name", ["worker", "scheduler"])
def test_a_term_ends_it_cleanly(name: str, start: Start, samples: Any) -> None:
    child = start("jobs", name)
    until(lambda: WorkerState.objects.filter(kind=name).exists())
    child.send_signal(signal.SIGTERM)
    code, _, words = ended(child)
    assert code == 0, words
    assert f"{name} stopped" in words
    assert not WorkerState.objects.exists()


def test_threads_that_handlers_leave_behind_do_not_keep_the_process(start: Start, samples: Any) -> None:
    """It knows that it was called from a command line, where it may end the process."""
    run = samples.leave_thread_behind.enqueue()
    assert ended(start("jobs", "worker", "--max-jobs", "1"))[0] == 0
    assert run.refresh().status == "succeeded"


def test_a_mistake_in_the_settings_is_found_before_it_works(start: Start) -> None:
    for name in ("runscheduler", "jobs scheduler"):
        code, data, words = ended(start(*name.split(), "--once", "--settings", "tests.management.wrong_settings"))
        assert (code, data) == (1, "")
        assert "SystemCheckError: System check identified some issues" in words
        assert "jobs_app.E003" in words


@pytest.mark.parametrize("name", SAME)
def test_it_has_the_options_and_the_help_of_the_command(name: str) -> None:
    verb, command = find_verbs()[name], SAME[name].Command
    of_verb, of_command = CommandParser(), CommandParser()
    verb.add_arguments(of_verb)
    command().add_arguments(of_command)
    told = [action.option_strings for action in of_command._actions]
    assert [action.option_strings for action in of_verb._actions] == [*told, ["--skip-checks"]]
    assert verb.__doc__ == command.help


def test_it_has_no_format_since_it_prints_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Command().create_parser("manage.py", "jobs")
    with pytest.raises(SystemExit):
        parser.parse_args(["worker", "--help"])
    told = capsys.readouterr().out
    assert "--concurrency" in told
    assert "--format" not in told


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(CommandError, match="--once works in one process"):
        call_command("jobs", "worker", "--once", "--processes", "2")
