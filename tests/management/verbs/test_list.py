"""`jobs list`."""

from __future__ import annotations

import re
import shlex
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.presence import Presence, announce
from tests.insights.run_rows import ago, ended, running, waiting
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended as ended_with

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


def listed(*arguments: object) -> list[UUID]:
    return [UUID(run["id"]) for run in jobs_json("list", *arguments)["runs"]]


def test_live_and_finished_runs_newest_first() -> None:
    first, second, third = ended(ago(hours=2)), running(ago(hours=1), subject="shop-7"), waiting()
    data, words = jobs("list")
    assert [line.split() for line in data.splitlines()] == [
        ["RUN", "STATE", "AGE", "TYPE", "SUBJECT"],
        [str(third), "queued", "1m", "work", "-"],
        [str(second), "running", "1h", "1m", "work", "shop-7"],
        [str(first), "succeeded", "2h", "1m", "work", "-"],
    ]
    assert words == ""
    assert max(map(len, data.splitlines())) <= 80


def test_what_went_wrong_has_a_column_where_something_did() -> None:
    ended(state="failed", error_class="shop.errors.OutOfStock")
    data, _ = jobs("list")
    assert [line.split()[-1] for line in data.splitlines()] == ["ERROR", "OutOfStock"]
    assert "ERROR" not in jobs("list", "--state", "succeeded")[0]


def test_json_has_all_that_the_interface_has_and_no_payload() -> None:
    run = ended(state="failed", error_class="TimeoutError", payload={"password": "hunter2"})
    told = jobs_json("list")
    assert (told["schema"], told["after"], told["searched_to"]) == (1, None, None)
    [found] = told["runs"]
    assert (found["id"], found["status"], found["error_class"]) == (str(run), "failed", "TimeoutError")
    assert found["queued_at"] == "2026-01-01T12:00:00+00:00"
    assert "hunter2" not in str(told)


@pytest.mark.parametrize(
    "wish",
    [
        ("--state", "failed"),
        ("--job-type", "import"),
        ("--queue", "mail"),
        ("--subject", "shop-7"),
        ("--worker", "w-1"),
        ("--error", "OutOfStock"),
        ("--schedule", "7"),
        ("--parent", "00000000-0000-0000-0000-000000000007"),
        ("--query", "lost sheep"),
        ("--query", "payload.rows:3"),
        ("--query", "type:import"),
    ],
)
def test_each_option_chooses_as_the_admin_does(wish: tuple[str, str]) -> None:
    columns = {"job_type": "import", "queue": "mail", "subject": "shop-7", "worker_id": "w-1", "schedule": 7}
    parent = UUID("00000000-0000-0000-0000-000000000007")
    meant = ended(
        state="failed",
        error_class="shop.OutOfStock",
        error="a lost sheep",
        parent=parent,
        payload={"rows": 3},
        **columns,
    )
    ended()
    waiting()
    assert listed(*wish) == [meant]


def test_times_are_lengths_or_moments() -> None:
    old, older, new = ended(ago(hours=30)), ended(ago(hours=60)), ended(ago(minutes=30))
    assert listed() == [new]
    assert listed("--since", "2d") == [new, old]
    assert listed("--since", "2025-12-01") == [new, old, older]
    assert listed("--until", "1d") == [old, older]
    assert listed("--since", "2025-12-31T00:00:00Z", "--until", "2h") == [old]


def test_the_next_page_is_told_as_a_command() -> None:
    runs = [ended(ago(minutes=minute), subject="a shop") for minute in range(5)]
    data, words = jobs("list", "--subject", "a shop", "--limit", 2)
    assert [line.split()[0] for line in data.splitlines()[1:]] == [str(run) for run in runs[:2]]
    [command] = re.findall(r"^The next page: manage\.py jobs (.*)$", words, re.MULTILINE)
    assert "--subject 'a shop'" in command
    data, words = jobs(*shlex.split(command))
    assert [line.split()[0] for line in data.splitlines()[1:]] == [str(run) for run in runs[2:4]]
    told = jobs_json("list", "--limit", 2)
    assert listed("--after", told["after"]) == runs[2:]


def test_nothing_is_no_error_unless_it_is_said_to_be() -> None:
    ended(ago(days=3))
    data, words = jobs("list")
    assert (data, words) == ("RUN  STATE  AGE  TYPE\n", "None in the last 24 hours: --since 7d looks further back.\n")
    assert jobs_json("list")["runs"] == []
    assert ended_with("list", "--fail-if-empty").code == 3
    answer = ended_with("list", "--fail-if-empty", "--format", "json")
    assert (answer.code, answer.json["runs"]) == (3, [])
    assert ended_with("list", "--fail-if-empty", "--since", "7d").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--state", "dancing"], 1, "invalid choice"),  # argparse: 2 from a shell
        (["--since", "soon"], 1, "--since"),
        (["--parent", "7"], 1, "repeats run '7' cannot be used"),
        (["--schedule", "x"], 1, "use a whole number"),
        (["--query", "payload.password:x"], 1, "is hidden"),
        (["--since", "1h", "--until", "2h"], 1, "ends before it begins"),
        (["--after", "there"], 2, "no place in the list"),
        (["--limit", "1001"], 2, "use at most 1000"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: int, message: str) -> None:
    answer = ended_with("list", *arguments)
    assert (answer.code, answer.data) == (code, "")
    assert message in answer.words


@pytest.mark.parametrize("option", ["--job-type", "--queue", "--subject", "--worker", "--error", "--parent", "--query"])
@pytest.mark.parametrize("verb", ["list", "cancel", "retry", "abort"])
def test_an_empty_value_does_not_mean_all(verb: str, option: str) -> None:
    """A script's variable may not be set."""
    arguments = ["--state", "waiting"] if verb == "list" else ["--state", "waiting", "--yes"]
    end = ended_with(verb, *arguments, option, "")
    assert (end.code, f"{option} is empty" in end.words) == (2, True)


def test_a_worker_is_named_as_tables_show_it() -> None:
    announce(connection, Presence(id="box-1234-abc", host="box", pid=1234))
    run = running(worker_id="box-1234-abc")
    running(worker_id="other")
    for word in ("box-1234-abc", "box-1234", "box1234"):
        assert listed("--worker", word) == [run]


def test_a_name_that_code_does_not_know_is_noticed() -> None:
    job(name="send_mail")(lambda: None)
    assert "Code knows no job type 'send_mial'. Did you mean 'send_mail'?" in jobs("list", "--job-type", "send_mial")[1]
