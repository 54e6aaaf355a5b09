"""The page of the command line names every verb and every exit code, and its recipes run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from jobs_app import job
from jobs_app.management import exit_codes
from jobs_app.management.commands.jobs import find_verbs
from jobs_app.models import ScheduleState
from tests.importing.foreign import crontab, make_tables, put_task
from tests.management.ending import ended

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "command-line.md").read_text()


def test_every_verb_is_listed() -> None:
    rows = [line.split("|")[1] for line in PAGE.partition("## What it prints")[0].splitlines() if line.startswith("|")]
    listed = {name for row in rows for name in re.findall(r"`([a-z]+)", row)}
    assert set(find_verbs()) <= listed


def test_every_exit_code_is_listed() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == {0, *codes}


@pytest.mark.django_db
def test_the_recipes_run() -> None:
    job(name="import_rows")(lambda: None)
    commands = re.findall(r"^\$ python manage\.py jobs (.*?)(?: \|\| .*)?$", PAGE, re.MULTILINE)
    assert len(commands) == 10
    assert [ended(*shlex.split(command)).code for command in commands] == [0] * 10


@pytest.mark.django_db
def test_the_steps_of_an_import_run() -> None:
    job(name="shop.tasks.send_report")(lambda to: None)
    make_tables("django_celery")
    put_task("a", "shop.tasks.send_report", args='["ann"]', crontab_id=crontab())
    commands = re.findall(r"^ *\$ python manage\.py jobs (.*)$", (DOCS / "importing.md").read_text(), re.MULTILINE)
    assert len(commands) == 5
    assert [ended(*shlex.split(command)).code for command in commands] == [
        0,
        0,
        0,
        4,
        0,
    ]  # 4: --paused, after it was on
    assert ScheduleState.objects.get().name == "a"
