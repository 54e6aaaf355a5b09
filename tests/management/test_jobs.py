"""`manage.py jobs`: finds its verbs, and answers with exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError, ProgrammingError

from jobs_app.management.commands.jobs import find_verbs
from jobs_app.management.verbs import status
from tests.management.calling import jobs
from tests.one_database import on_one_database

pytestmark = on_one_database

MANAGE = Path(__file__).parents[2] / "manage.py"


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", **variables}
    return subprocess.run(
        [sys.executable, MANAGE, "jobs", *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_each_verb_has_help_and_does_something() -> None:
    found = find_verbs()
    assert {"backfill", "schedules", "show", "status", "trigger"} <= set(found)
    for verb in found.values():
        assert verb.__doc__
        assert callable(verb.handle)
        assert callable(verb.add_arguments)


def test_help_lists_the_verbs() -> None:
    answer = manage("--help")
    assert answer.returncode == 0
    assert "What waits, what runs" in answer.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["show"], ["status", "--format", "xml"], ["trigger", "x", "--at", "1"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    answer = manage(*arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "usage: manage.py jobs" in answer.stderr


def test_an_error_is_exit_code_1_and_leaves_standard_output_empty(child_environment: dict[str, str]) -> None:
    answer = manage("show", "00000000-0000-0000-0000-000000000007", **child_environment)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("CommandError: no run has the id")


def test_options_of_django_may_stand_behind_the_verb(child_environment: dict[str, str]) -> None:
    answer = manage("status", "--settings", "tests.settings", "--no-color", "-v", "0", **child_environment)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [(OperationalError("connection refused"), 75), (ProgrammingError("no such table"), 1), (KeyboardInterrupt(), 130)],
)
def test_what_went_wrong_is_told_without_a_traceback(error: BaseException, code: int, monkeypatch: Any) -> None:
    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(status, "handle", fail)
    with pytest.raises(CommandError) as caught:
        jobs("status")
    assert caught.value.returncode == code


def test_a_reader_who_has_read_enough_is_no_error_to_tell(child_environment: dict[str, str]) -> None:
    command = f"{sys.executable} {MANAGE} jobs status --watch 0.01 | head -n 1"
    done = subprocess.run(
        command, shell=True, env=child_environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.startswith("QUEUE")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
